import type { TopicView } from '../core/verify/row-comparison.ts';
import { HASH_OF_NO_ROW } from '../core/content-hash.ts';
import { hashIn } from '../core/verify/topic-entry.ts';
import type { CollectionName } from '../model/collections.ts';
import { lookUpIndex } from './circumstances.ts';
import type { VerifyTools } from './verify-tools.ts';
import type { CollectionIndex, IndexArea } from '../state/index-store.ts';

/** An area of an index, beside the records from which its values follow. */
export interface IndexedArea {
  readonly area: IndexArea;
  readonly records: Pick<ReadonlyMap<string, unknown>, 'keys'>;
  /** The content of a key in the topic; null: none. */
  readonly inTopic: (key: string) => string | null;
  /** The content of a key in the index, in the same form; null: none. */
  readonly inIndex: (key: string, value: Buffer) => string | null;
}

/** The areas of rows and rejects, in which the index holds only hashes. */
export function hashedAreas(view: TopicView): readonly IndexedArea[] {
  return (['rows', 'rejects'] as const).map((area) => ({
    area,
    records: view[area],
    inTopic: (key) => {
      const entry = view[area].get(key);
      return entry === undefined ? null : hashIn(entry);
    },
    inIndex: (_key, value) => value.toString('latin1'),
  }));
}

/** The index holds this hash for a record that the log lost, or that another program wrote. */
const NO_HASH = HASH_OF_NO_ROW.toString('latin1');
const ATTEMPTS = 3;
const BETWEEN_ATTEMPTS_MS = 500;

/** The keys for which index and topic differ; `skipped`: keys that changed too often to compare. */
export async function verifyIndex(
  tools: VerifyTools,
  options: {
    collection: CollectionName;
    areas: readonly IndexedArea[];
    readOn: () => Promise<void>;
    signal: AbortSignal;
  },
): Promise<{ keys: readonly string[]; skipped: number }> {
  const { collection, areas, readOn, signal } = options;
  const found: string[] = [];
  let skipped = 0;
  const index = tools.state?.collection(collection);
  // An index without a position is lost or being rebuilt; the owner rebuilds it from the topics before it publishes.
  if (index === undefined || (await index.position()) === null) return { keys: found, skipped };
  for (const each of areas) {
    let doubtful = await differing(index, each);
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
      await tools.parts.runtime.sleep(BETWEEN_ATTEMPTS_MS, signal);
    }
  }
  return { keys: found, skipped };
}

/** Candidates: the index and the topic can change during this read. */
async function differing(index: CollectionIndex, each: IndexedArea): Promise<string[]> {
  const doubtful = new Set<string>();
  const unseen = new Set(each.records.keys());
  for await (const batch of index.entries(each.area)) {
    for (const [key, value] of batch) {
      unseen.delete(key);
      if (differs(each, key, value)) doubtful.add(key);
    }
  }
  return [...doubtful, ...unseen];
}

function differs({ inTopic, inIndex }: IndexedArea, key: string, value: Buffer | null | undefined) {
  const indexed = value === null || value === undefined ? null : inIndex(key, value);
  // The content is unknown: the next full sync publishes or removes the key.
  return indexed !== NO_HASH && indexed !== inTopic(key);
}
