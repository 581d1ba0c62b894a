import { noRows, type KeyedRow, type PageTally } from './rows/compare-with-published.ts';
import type { SyncMode } from '../model/progress.ts';

/** How many records of each kind were derived. */
export type DerivedTally = ReturnType<typeof noTally>;

export function noTally() {
  return {
    created: 0,
    replaced: 0,
    deleted: 0,
    restored: 0,
    /** Nulls published to `absence-changes`. */
    forgotten: 0,
    /** Records published to `absences`; `hidden`: nulls published to it. */
    shown: 0,
    hidden: 0,
    /** References to versions that the hub did not show when it was asked for them. */
    notShown: 0,
  };
}

/** The numbers of one sync, which its progress records contain. */
export type SyncStats = ReturnType<typeof newSyncStats>;

/** `startedAtMs`: hub time, ms since the epoch. */
export function newSyncStats(options: { syncId: string; mode: SyncMode; startedAtMs: number }) {
  return {
    ...options,
    ...noRows(),
    rowsRemoved: 0,
    /** Keys of the topic that a full sync did not find at the hub and that stay. */
    rowsNotFound: 0,
    /** Rows that were published although they are older than the last published version of the same row. */
    rowsOlder: 0,
    totalAtStart: null as number | null,
    totalAtEnd: null as number | null,
    /** Rows that incremental syncs missed and this full sync found; null if this cannot be judged. */
    rowsLate: null as number | null,
    /**
     * True if no incremental sync of the session ever brought a row. Late rows are then due to the hub's filter, not to
     * an overlap that is too short.
     */
    filterSelectsNothing: null as true | null,
    /** Awaited versions of absences that the hub was not asked for, since there were too many. */
    idsNotAsked: 0,
    /** Number of rejects by reason; reasons name fields, never values. */
    rejectReasons: new Map<string, number>(),
    /** The derived events, for versions of absences. */
    absences: noTally(),
  };
}

/** Further reasons count as one: a hub could give each row a field with a name of its own. */
const MOST_REASONS = 100;

export function countRejects({ rejectReasons }: SyncStats, rows: readonly KeyedRow[]): void {
  for (const { decoded } of rows) {
    if (decoded.kind !== 'reject') continue;
    const isKept = rejectReasons.has(decoded.reason) || rejectReasons.size < MOST_REASONS;
    const reason = isKept ? decoded.reason : 'other reasons';
    rejectReasons.set(reason, (rejectReasons.get(reason) ?? 0) + 1);
  }
}

/** The most frequent reasons, in descending order. */
export function commonestReasons({ rejectReasons }: SyncStats, count: number) {
  return [...rejectReasons]
    .map(([reason, rows]) => ({ reason, rows }))
    .sort((one, other) => other.rows - one.rows)
    .slice(0, count);
}

/** Adds the numbers of a page to those of the sync. */
export function addTally(stats: SyncStats, tally: PageTally): void {
  for (const [name, count] of Object.entries(tally)) stats[name as keyof PageTally] += count;
}
