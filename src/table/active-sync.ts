import type { ReadableRow } from '../core/rows/decoded-row.ts';
import type { Change, KeyedRow } from '../core/rows/compare-with-published.ts';
import type { SeenKeys } from '../core/seen-keys.ts';
import type { SyncStats } from '../core/sync-stats.ts';

/** What a requested sync publishes even if it is unchanged. */
export interface Republication {
  /** Whether to republish a row. True only once for each key, because a sync may read a row twice, or lead to a second sync. */
  readonly rows?: ((key: string) => boolean) | undefined;
  /** Whether to republish a current absence, by absence id, in syncs of `absence-versions`. */
  readonly absences?: ((absenceId: string) => boolean) | undefined;
}

/** The record that the writer keeps of a running sync. */
export interface ActiveSync {
  readonly stats: SyncStats;
  readonly isFull: boolean;
  /** Keys that the scan of the sync has read. */
  readonly seen: SeenKeys;
  /** Only for a full sync: keys that other syncs have read since this sync began. They must not be deleted. */
  readonly seenByOthers: SeenKeys | null;
  /** Keys of rejects that the sync has met; only for a full sync. */
  readonly seenRejects: SeenKeys | null;
  /** Read version of the newest page: this sync does not need to know of older publications. */
  readVersion: number;
  /**
   * Tells whether incremental syncs missed the change of a row that this full sync reads; null: this cannot be judged.
   */
  readonly isLate?: ((row: ReadableRow) => boolean) | null;
  /** Rows to publish even if they are unchanged. */
  readonly republication?: Republication | undefined;
}

/** Whether the hub has a key: this sync has read it, or another sync has while this one ran. */
export function hasSeen(sync: ActiveSync, area: Change['area'], key: string): boolean {
  if (area === 'rejects') return sync.seenRejects?.has(key) === true;
  return sync.seen.has(key) || sync.seenByOthers?.has(key) === true;
}

/**
 * Whether a full sync has certainly read every known row: it has read as many rows as are known, and all of them were
 * readable and not stale. If this is false, only a comparison with the whole index shows which rows are missing.
 */
export function hasSeenAll({ seen, seenRejects, stats }: ActiveSync, knownRows: number): boolean {
  return seen.size === knownRows && seenRejects?.size === 0 && stats.rowsStale === 0;
}

/** Keys that a sync has read on an earlier page: if a hub lists a row twice, the first occurrence counts. */
export function keysSeenBefore({ seen }: ActiveSync, rows: readonly KeyedRow[]): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { key } of rows) if (key !== null && seen.has(key)) keys.add(key);
  return keys;
}
