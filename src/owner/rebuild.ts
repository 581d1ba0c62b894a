import { HASH_OF_NO_ROW } from '../core/rows/content-hash.ts';
import { z } from 'zod';
import { COLLECTIONS, type CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { CollectionIndex, IndexChange } from '../state/index-store.ts';
import { recoverCollections } from '../recovery/recover-collections.ts';
import { lookUpAll } from '../table/look-up-all.ts';
import type { LookUp } from '../table/table.ts';
import type { WriterStart } from '../table/collection-progress.ts';
import { requireRecords } from '../session/watch-topics.ts';
import { mirrored, ownerRequest, type OwnerWork } from './owner-request.ts';

const parameters = z.strictObject({
  /** Source collections; empty: all mirrored ones. */
  collections: z.array(z.enum(COLLECTIONS)),
});

/** The result for one index, which can be sent as JSON. */
export interface RebuiltIndex {
  readonly collection: CollectionName;
  readonly rows: number;
  readonly rejects: number;
}

/** `rollcall state rebuild`: drops indexes and rebuilds them from the topics, one after another. */
export const REBUILD = ownerRequest({
  kind: 'rebuild',
  parameters,
  async handle({ collections }, work) {
    const wanted = collections.length > 0 ? collections : [...work.writers.keys()];
    const { tenantId } = work.tenant;
    const all = wanted.map((name) => [name, mirrored(work.writers, name, tenantId)] as const);
    const rebuilt: RebuiltIndex[] = [];
    for (const [collection, writer] of all) {
      await work.report(`rebuilding the index of ${collection}`);
      await rebuildIndex(work, collection);
      const { rows, rejects } = writer.known;
      rebuilt.push({ collection, rows, rejects });
    }
    return rebuilt;
  },
});

/** Keys with corrupt records, which the next full sync publishes again. */
export interface Corrupt {
  readonly rows: readonly string[];
  readonly rejects: readonly string[];
}

/**
 * Drops a collection's index and rebuilds it from the topics. The collection's syncs wait meanwhile; other collections
 * continue. Publishes only changes that were already staged. Throws `KAFKA_…` and `INDEX_…`, also `KAFKA_RECORDS_LOST`.
 */
export async function rebuildIndex(
  work: OwnerWork,
  collection: CollectionName,
  corrupt?: Corrupt,
): Promise<void> {
  const { tenant, writers, signal } = work;
  const writer = mirrored(writers, collection, tenant.tenantId);
  const index = tenant.state.collection(collection);
  await writer.reindex(async () => {
    // Wait until the last commit is readable; otherwise its records would count as lost.
    await requireRecords(tenant, [writer], signal);
    await index.rebuild();
    const known = [writer.progress, ...writer.committed.derived].filter((each) => each !== null);
    const start = await readAgain(work, { collection, known });
    if (corrupt !== undefined) await markCorrupt(index, start, corrupt);
    return start;
  });
}

async function readAgain(
  { tenant, signal }: OwnerWork,
  { collection, known }: { collection: CollectionName; known: readonly Progress[] },
): Promise<WriterStart> {
  const ownership = {
    progress: new Map(known.map((each) => [each.collection, each])),
    transactionIds: new Map(known.map((each) => [each.collection, new Set([each.transactionId])])),
  };
  const starts = await recoverCollections(tenant, [collection], { ownership, signal });
  const start = starts.get(collection);
  if (start === undefined) throw new Error(`${collection} was not caught up`);
  return start;
}

/**
 * Gives each corrupt key that the index has a hash that no row has, so that the next full sync publishes it. A corrupt
 * key that the index does not have is new to that sync, which publishes it anyway.
 */
async function markCorrupt(index: CollectionIndex, start: WriterStart, corrupt: Corrupt): Promise<void> {
  const position = await index.position();
  if (position === null) return;
  const changes: IndexChange[] = [];
  for (const area of ['rows', 'rejects'] as const) {
    const lookUp: LookUp = (...of) => index.lookup(...of, start.indexed);
    for (const key of (await lookUpAll(lookUp, area, corrupt[area])).keys())
      changes.push({ area, key, value: HASH_OF_NO_ROW });
  }
  if (changes.length > 0) await index.apply(start.indexed, position, changes);
}
