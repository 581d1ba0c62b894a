import type { TenantLog } from '../log/log.ts';
import { COLLECTIONS, sourceOf, type CollectionName } from '../model/collections.ts';

/**
 * Where the topics of collections end, those of derived collections included: one number for each, which grows with every
 * record.
 */
export async function readTopicEnds(
  topics: Pick<TenantLog, 'ranges'>,
  sources: readonly CollectionName[],
): Promise<ReadonlyMap<CollectionName, number>> {
  const names = COLLECTIONS.filter((name) => sources.includes(sourceOf(name)));
  const ends = new Map<CollectionName, number>();
  for (const [at, { partitions }] of (await topics.ranges(names)).entries()) {
    const source = sourceOf(names[at] as CollectionName);
    const end = partitions.reduce((sum, { high }) => sum + high, 0);
    ends.set(source, (ends.get(source) ?? 0) + end);
  }
  return ends;
}
