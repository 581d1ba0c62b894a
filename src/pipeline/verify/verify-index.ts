import type { TopicView } from '../../core/verify/row-comparison.ts';
import { HASH_OF_NO_ROW } from '../../core/content-hash.ts';
import { hashIn, type TopicEntry } from '../../core/verify/topic-entry.ts';
import type { CollectionName } from '../../model/collections.ts';
import { lookUpIndex } from './circumstances.ts';
import type { VerifyTools } from './verify-tools.ts';
import type { IndexArea } from '../../state/index-store.ts';

/** An area of an index, and the topic's entries for its keys. */
export interface IndexedArea {
  readonly area: IndexArea;
  readonly entries: Pick<ReadonlyMap<string, TopicEntry>, 'get' | 'has' | 'keys' | 'size'>;
  /** The hash in a value of the index, as 16 Latin-1 characters; null: none. */
  readonly hashIn: (key: string, value: Buffer) => string | null;
}

/** The areas of rows and rejects, in which the index holds only hashes. */
export function hashedAreas(view: TopicView): readonly IndexedArea[] {
  return (['rows', 'rejects'] as const).map((area) => ({
    area,
    entries: view[area],
    hashIn: (_key, value) => value.toString('latin1'),
  }));
}

/** The index holds this hash for a record that the log lost, or that another program wrote. */
const NO_HASH = HASH_OF_NO_ROW.toString('latin1');
const ATTEMPTS = 3;
const BETWEEN_ATTEMPTS_MS = 500;

/** The keys with different hashes in index and topic; `skipped`: keys that changed too often to compare. */
export async function verifyIndex(
  tools: VerifyTools,
  options: {
    collection: CollectionName;
    areas: readonly IndexedArea[];
    readOn: () => Promise<void>;
    signal: AbortSignal;
  },
): Promise<{ keys: readonly string[]; skipped: number }> {
  const { state } = tools;
  const { collection, areas, readOn, signal } = options;
  if (state === null) return { keys: [], skipped: 0 };
  const index = state.collection(collection);
  // An index without a position is lost or being rebuilt; the owner rebuilds it from the topics before it publishes.
  if ((await index.position()) === null) return { keys: [], skipped: 0 };
  const found: string[] = [];
  let skipped = 0;
  for (const each of areas) {
    let doubtful = await differing(tools, collection, each);
    for (let attempt = 1; doubtful.length > 0; attempt += 1) {
      const before = await index.position();
      const values = await lookUpIndex(tools, collection, { area: each.area, keys: doubtful });
      await readOn();
      const after = await index.position();
      if (values !== undefined) doubtful = doubtful.filter((key) => differs(each, key, values.get(key)));
      if (values !== undefined && before?.transactionId === after?.transactionId && attempt > 1) {
        found.push(...doubtful);
        break;
      }
      if (attempt > ATTEMPTS) {
        skipped += doubtful.length;
        break;
      }
      await tools.parts.sleep(BETWEEN_ATTEMPTS_MS, signal);
    }
  }
  return { keys: found, skipped };
}

/** Candidates: the index and the topic can change during this read. */
async function differing(
  { state }: VerifyTools,
  collection: CollectionName,
  each: IndexedArea,
): Promise<string[]> {
  const doubtful = new Set<string>();
  let met = 0;
  const index = state?.collection(collection);
  if (index === undefined) return [];
  const seen = new Set<string>();
  for await (const batch of index.entries(each.area)) {
    for (const [key, value] of batch) {
      met += 1;
      if (differs(each, key, value)) doubtful.add(key);
      if (each.entries.has(key)) seen.add(key);
    }
  }
  if (seen.size < each.entries.size || met === 0) {
    for (const key of each.entries.keys()) if (!seen.has(key)) doubtful.add(key);
  }
  return [...doubtful];
}

function differs({ entries, hashIn: hashOf }: IndexedArea, key: string, value: Buffer | null | undefined) {
  const entry = entries.get(key);
  const indexed = value === null || value === undefined ? null : hashOf(key, value);
  // The content is unknown: the next full sync publishes or removes the key.
  if (indexed === NO_HASH) return false;
  return (entry === undefined ? null : hashIn(entry)) !== indexed;
}
