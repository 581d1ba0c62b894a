import { STATE_TOPIC } from '../model/collections.ts';
import type { OutgoingRecord } from '../log/log.ts';
import {
  ABSENCE_AREAS,
  type CollectionIndex,
  type IndexArea,
  type IndexChange,
} from '../state/index-store.ts';
import { changeIn, changelogRecords } from '../table/changelog.ts';
import type { TenantAbsences } from '../table/tenant.ts';
import type { AbsenceTenant } from './render-absences.ts';
import { keptInForce } from './version-records.ts';

/** The limit of records in a transaction. */
const RECORDS_AT_ONCE = 5_000;

/** An entry that is copied from or to `absence-state`, as the mapping in force leaves it (invariant 12). */
export function copied(absences: TenantAbsences, change: IndexChange): IndexChange {
  const { area, value } = change;
  if (value === null) return change;
  if (area === 'bodies') return { ...change, value: keptInForce(absences, value) };
  return area === 'absent' && absences.absentSinceMs() === Infinity ? { ...change, value: null } : change;
}

/**
 * Yields the records that make `absence-state` equal to the index of absences, one transaction's worth at a time: first the
 * removal of entries that the index lacks, then all entries of the index. `at` returns the transaction that the index
 * reflects.
 */
export async function* changelogOf(
  { log, state, absences }: AbsenceTenant,
  at: () => string,
  signal: AbortSignal,
): AsyncGenerator<readonly OutgoingRecord[]> {
  const index = state.collection('absence-versions');
  const stale = [...(await staleEntries({ log, index, signal }, at)).values()];
  for (let from = 0; from < stale.length; from += RECORDS_AT_ONCE)
    yield changelogRecords(stale.slice(from, from + RECORDS_AT_ONCE));
  let waiting: IndexChange[] = [];
  for (const area of ABSENCE_AREAS) {
    for await (const entries of index.entries(area)) {
      for (const [key, value] of entries) waiting.push(copied(absences, { area, key, value }));
      if (waiting.length < RECORDS_AT_ONCE) continue;
      yield changelogRecords(waiting);
      waiting = [];
    }
  }
  if (waiting.length > 0) yield changelogRecords(waiting);
}

/** Removals of entries that the topic holds and the index lacks, by the topic's key. */
async function staleEntries(
  {
    log,
    index,
    signal,
  }: { log: AbsenceTenant['log']; index: Pick<CollectionIndex, 'lookup'>; signal: AbortSignal },
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
