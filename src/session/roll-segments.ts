import type { SegmentRolls } from '../core/segment-rolls.ts';
import { leavesSessionWhole } from '../errors.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { CollectionProgress } from '../table/collection-progress.ts';
import type { Tenant } from '../table/tenant.ts';
import { suffixOf } from '../recovery/topic-ends.ts';

type Writers = ReadonlyMap<
  CollectionName,
  { readonly committed: Pick<CollectionProgress, 'last' | 'offsets'> }
>;

const RETRY_MS = 10_000;
/** A setting that was lowered takes effect within a day. */
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/**
 * Lets compaction reach removed data in partitions that are not written to any more (invariant 13, ADR 2). `rolls`
 * outlives the session. Rejects with errors that require a new session; ends with the signal.
 */
export async function rollSegments(
  tenant: Tenant,
  options: { rolls: SegmentRolls; writers: Writers; signal: AbortSignal },
): Promise<void> {
  const { rolls, writers, signal } = options;
  while (!signal.aborted) {
    const pauseMs = await rollDue(tenant, { rolls, writers }).catch((error: unknown) => {
      // The next commit will show that Kafka cannot be reached; the markers can wait.
      if (!leavesSessionWhole(error) && !signal.aborted) throw error;
      return RETRY_MS;
    });
    await tenant.runtime.sleep(Math.min(pauseMs, LONGEST_PAUSE_MS), signal).catch(() => undefined);
  }
}

async function rollDue(
  tenant: Tenant,
  { rolls, writers }: { rolls: SegmentRolls; writers: Writers },
): Promise<number> {
  const written = writtenPartitions(writers);
  if (written.size === 0) return RETRY_MS;
  const intervals = await tenant.log.rollIntervals([...written.keys()]);
  const due = rolls.due(intervals, tenant.runtime.now());
  try {
    if (due.length > 0)
      await tenant.log.markEnds(new Map(due.map((topic) => [topic, [...(written.get(topic) ?? [])]])));
  } catch (error) {
    rolls.missed(due);
    throw error;
  }
  return rolls.pauseMs(intervals, tenant.runtime.now());
}

/** The partitions with data, by topic. */
function writtenPartitions(writers: Writers): Map<TopicSuffix, Set<number>> {
  const topics = new Map<TopicSuffix, Set<number>>();
  for (const { committed } of writers.values()) {
    for (const name of Object.keys(committed.offsets)) {
      const partitions = topics.get(suffixOf(name)) ?? new Set<number>();
      topics.set(suffixOf(name), partitions.add(Number(name.slice(name.lastIndexOf('/') + 1))));
    }
    if (committed.last !== null) topics.set('progress', new Set([0]));
  }
  return topics;
}
