import { STATE_TOPIC } from '../../model/collections.ts';
import type { OutgoingRecord, TenantLog } from '../../log/log.ts';
import {
  CHAIN_AREAS,
  type CollectionIndex,
  type IndexArea,
  type IndexChange,
} from '../../state/index-store.ts';
import type { ActiveSync } from '../active-sync.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeIn, changelogRecords } from './changelog.ts';

/** The limit of records in a transaction. */
const RECORDS_AT_ONCE = 5_000;

export interface ImportParts {
  readonly log: Pick<TenantLog, 'ranges' | 'read'>;
  /** The index of `absence-versions`. */
  readonly index: Pick<CollectionIndex, 'lookup' | 'entries'>;
  readonly signal: AbortSignal;
}

/** Makes the changelog complete: publishes `records` (see {@link importedRecords}), and then that nothing is missing. */
export async function fillChangelog(
  work: UnitOfWork,
  records: (at: () => string) => AsyncIterable<readonly OutgoingRecord[]>,
  sync: ActiveSync,
): Promise<void> {
  const { table, progress } = work;
  let isEmpty = true;
  for await (const some of records(() => table.indexed)) {
    // Withdraws the mark of a lost changelog from `progress`, before `progress` has offsets of the new changelog.
    if (isEmpty && progress.last !== null) await work.commit(sync);
    isEmpty = false;
    table.staged.reissue(some);
    await work.commit(sync);
  }
  // The next transaction records it. For an empty index any later transaction may.
  progress.markChangelogComplete();
  if (!isEmpty) await work.commit(sync);
}

/**
 * Yields the records that make `absence-state` equal to the chain index, one transaction's worth at a time: first the
 * removal of entries that the index lacks, then all entries of the index. `at` returns the transaction that the index
 * reflects.
 */
export async function* importedRecords(
  parts: ImportParts,
  at: () => string,
): AsyncGenerator<readonly OutgoingRecord[]> {
  const stale = [...(await staleEntries(parts, at)).values()];
  for (let from = 0; from < stale.length; from += RECORDS_AT_ONCE)
    yield changelogRecords(stale.slice(from, from + RECORDS_AT_ONCE));
  let waiting: IndexChange[] = [];
  for (const area of CHAIN_AREAS) {
    for await (const entries of parts.index.entries(area)) {
      for (const [key, value] of entries) waiting.push({ area, key, value });
      if (waiting.length < RECORDS_AT_ONCE) continue;
      yield changelogRecords(waiting);
      waiting = [];
    }
  }
  if (waiting.length > 0) yield changelogRecords(waiting);
}

/** Removals of entries that the topic holds and the index lacks, by the topic's key. */
async function staleEntries(
  { log, index, signal }: ImportParts,
  at: () => string,
): Promise<ReadonlyMap<string, IndexChange>> {
  const stale = new Map<string, IndexChange>();
  const ranges = await log.ranges([STATE_TOPIC]);
  if (ranges.every(({ partitions }) => partitions.every(({ low, high }) => low >= high))) return stale;
  await log.read({
    from: [{ topic: STATE_TOPIC, after: {} }],
    onBatch: async (records) => {
      const byArea = new Map<IndexArea, string[]>();
      for (const record of records) {
        const change = record.value === null ? null : changeIn(record);
        if (change === null) continue;
        const keys = byArea.get(change.area) ?? [];
        byArea.set(change.area, keys);
        keys.push(change.key);
      }
      for (const [area, keys] of byArea) {
        const found = await index.lookup(area, keys, at());
        for (const [position, key] of keys.entries()) {
          if ((found[position] ?? null) === null) stale.set(`${area}/${key}`, { area, key, value: null });
        }
      }
    },
    signal,
  });
  return stale;
}
