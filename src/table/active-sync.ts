import type { ReadableRow } from '../core/rows/decoded-row.ts';
import type { Change, KeyedRow } from '../core/rows/row-changes.ts';
import type { Fingerprints, SeenKeys } from '../core/seen-keys.ts';
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
  /** Keys that the scan of the sync has read; null without a scan. */
  readonly seen: SeenKeys | null;
  /** Only for a full sync: keys that other syncs have read since this sync began. They are no candidates for deletion. */
  readonly seenByOthers: SeenKeys | null;
  /** Only for a full sync. */
  readonly seenRejects: SeenKeys | null;
  /** Read version of the newest page: this sync does not need to know of older publications. */
  readVersion: number;
  /** Called with each row with new content. */
  readonly onNew?: ((row: ReadableRow) => void) | undefined;
  /** Rows to publish even if they are unchanged. */
  readonly republication?: Republication | undefined;
}

/** Whether the hub has a key: this sync has read it, or another sync has while this one ran. */
export function hasSeen(sync: ActiveSync, area: Change['area'], key: string): boolean {
  if (area === 'rejects') return sync.seenRejects?.has(key) === true;
  return sync.seen?.has(key) === true || sync.seenByOthers?.has(key) === true;
}

/**
 * Whether a full sync has certainly read every known row: it has read as many rows as are known, and all of them were
 * readable and not stale. If this is false, only the whole index shows it.
 */
export function hasSeenAll({ seen, seenRejects, stats }: ActiveSync, knownRows: number): boolean {
  return seen?.size === knownRows && seenRejects?.size === 0 && stats.rowsStale === 0;
}

/** Keys of readable rows. */
export function rowKeys(rows: readonly KeyedRow[]): string[] {
  return rows.flatMap(({ key, decoded }) => (key !== null && decoded.kind === 'row' ? [key] : []));
}

/** Keys that a sync has read on an earlier page: if a hub lists a row twice, the first occurrence counts. */
export function keysSeenBefore({ seen }: ActiveSync, rows: readonly KeyedRow[]): ReadonlySet<string> {
  const keys = new Set<string>();
  if (seen === null) return keys;
  for (const { key } of rows) if (key !== null && seen.has(key)) keys.add(key);
  return keys;
}

/** Marks the rows of a page that need not be decoded. If one of them may have occurred before, it returns false and marks nothing. */
export function markAllSeen(syncs: Iterable<ActiveSync>, sync: ActiveSync, keys: Fingerprints): boolean {
  const all = [...syncs].flatMap((active) => (active === sync ? active.seen : active.seenByOthers) ?? []);
  if (sync.seen === null || sync.seen.hasAny(keys) || !all.every((seen) => seen.fits(keys))) return false;
  for (const seen of all) seen.addAll(keys);
  return true;
}

/**
 * Marks rows, unreadable ones included, as present for all running syncs (contract, "Deletions"). `sync`: the sync whose
 * scan read them; null when they were requested by id.
 */
export function markSeen(
  syncs: Iterable<ActiveSync>,
  sync: ActiveSync | null,
  rows: readonly KeyedRow[],
): void {
  for (const active of syncs) {
    const seen = active === sync ? active.seen : active.seenByOthers;
    if (seen === null) continue;
    for (const { key, rejectKey, decoded } of rows) {
      if (key !== null) seen.add(key);
      if (decoded.kind === 'reject') active.seenRejects?.add(rejectKey);
    }
  }
}
