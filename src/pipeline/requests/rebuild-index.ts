import { decodeVersionEntry, encodeVersionEntry } from '../../core/chains/entry-codec.ts';
import { decodePublishedAbsence, encodePublishedAbsence } from '../../core/chains/published-absence.ts';
import { HASH_OF_NO_ROW } from '../../core/content-hash.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Progress } from '../../model/progress.ts';
import type { CollectionIndex, IndexChange } from '../../state/index-store.ts';
import { recoverCollections } from '../recovery/recover-collections.ts';
import { lookUpAll } from '../look-up-all.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import type { WriterStart } from '../recovery/writer-start.ts';
import { dayCounter } from '../day-counter.ts';
import { requireRecords } from '../topic-ends.ts';
import { notMirrored, type OwnerWork } from './owner-request.ts';

/** Keys with corrupt records, which the next full sync publishes again. */
export interface Corrupt {
  readonly rows: readonly string[];
  readonly rejects: readonly string[];
  /** Keys in `absences`, when the collection is `absence-versions`. */
  readonly absences: readonly string[];
}

/**
 * Drops a collection's index and rebuilds it from the topics. The collection's syncs wait meanwhile, other collections
 * continue. `corrupt`: the chain index is imported from the public topics, because the changelog may be wrong.
 * Publishes only changes that were already staged. Throws `KAFKA_…` and `INDEX_…`, also `KAFKA_RECORDS_LOST`.
 */
export async function rebuildIndex(
  work: OwnerWork,
  collection: CollectionName,
  corrupt?: Corrupt,
): Promise<void> {
  const { parts, session, signal } = work;
  const writer = session.writers.get(collection);
  if (writer === undefined) throw notMirrored(collection);
  const index = parts.state.collection(collection);
  await writer.reindex(async (isFirstLoadOver) => {
    // Wait until the last commit is readable; otherwise its records would count as lost.
    await requireRecords(parts, new Map([[collection, writer]]), signal);
    await index.rebuild();
    const start = await readAgain(work, {
      collection,
      writer,
      isFirstLoadOver,
      readsChangelog: corrupt === undefined,
    });
    if (corrupt !== undefined) await markCorrupt(index, start, corrupt);
    return start;
  });
}

function withoutMark(progress: Progress): Progress {
  return { ...progress, absenceState: undefined };
}

async function readAgain(
  { parts, signal }: OwnerWork,
  of: {
    collection: CollectionName;
    writer: CollectionWriter;
    isFirstLoadOver: boolean;
    readsChangelog: boolean;
  },
): Promise<WriterStart> {
  const { collection, writer, isFirstLoadOver, readsChangelog } = of;
  const known = [writer.progress, ...writer.committed.derived]
    .filter((each) => each !== null)
    .map((each) => (readsChangelog ? each : withoutMark(each)));
  const byName = <T>(make: (progress: Progress) => T): Map<CollectionName, T> =>
    new Map(known.map((progress) => [progress.collection, make(progress)]));
  const starts = await recoverCollections(
    { ...parts, collections: [collection], dayOf: dayCounter(parts) },
    {
      owner: '',
      progress: byName((progress) => progress),
      transactionIds: byName(({ transactionId }) => new Set([transactionId])),
      loadedBefore: new Set(isFirstLoadOver ? ['absence-changes'] : []),
      recordedAtMs: new Map(),
    },
    signal,
  );
  const start = starts.get(collection);
  if (start === undefined) throw new Error(`${collection} was not caught up`);
  return start;
}

/** Gives corrupt keys in the index a hash that no row has. The next full sync publishes other keys anyway. */
async function markCorrupt(index: CollectionIndex, start: WriterStart, corrupt: Corrupt): Promise<void> {
  const position = await index.position();
  if (position === null) return;
  const changes: IndexChange[] = [];
  for (const area of ['rows', 'rejects'] as const) {
    for (const [key, value] of await lookUpAll(index, { area, keys: corrupt[area], at: start.indexed })) {
      if (value !== null) changes.push({ area, key, value: HASH_OF_NO_ROW });
    }
  }
  changes.push(...(await markAbsences(index, start, corrupt.absences)));
  if (changes.length > 0) await index.apply(start.indexed, position, changes);
}

/**
 * Marks absences as shown with unknown content, and their versions as pending: the end of the next sync publishes them.
 */
async function markAbsences(
  index: CollectionIndex,
  { indexed: at }: WriterStart,
  keys: readonly string[],
): Promise<IndexChange[]> {
  const changes: IndexChange[] = [];
  const published = await lookUpAll(index, { area: 'absences', keys, at });
  const entries = [...published].flatMap(([key, value]) => {
    const { entry, shown } = decodePublishedAbsence(key, value);
    return entry === null || shown === null ? [] : [{ key, entry }];
  });
  for (const { key, entry } of entries) {
    const value = encodePublishedAbsence(key, { entry, shown: HASH_OF_NO_ROW });
    changes.push({ area: 'absences', key, value });
  }
  const versionIds = entries.map(({ entry }) => entry.publishedVersionId);
  for (const [key, value] of await lookUpAll(index, { area: 'versions', keys: versionIds, at })) {
    if (value === null) continue;
    const entry = { ...decodeVersionEntry(key, value), isResolved: false };
    changes.push(
      { area: 'versions', key, value: encodeVersionEntry(key, entry) },
      { area: 'open', key, value: Buffer.alloc(0) },
    );
  }
  return changes;
}
