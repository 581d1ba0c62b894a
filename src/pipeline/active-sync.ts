import type { Change, KeyedRow } from '../core/page-decision.ts';
import type { SeenKeys } from '../core/seen-keys.ts';
import type { SyncStats } from './sync-stats.ts';
import type { Republication } from './republication.ts';

/** What a pass tells the writer to watch for it while it runs. */
export interface ActiveSync {
  readonly stats: SyncStats;
  /** Keys that a full pass has met; null for a delta. */
  readonly seen: SeenKeys | null;
  /** Keys that a delta has met; left out of a full pass, which has `seen`, and where nothing is walked. */
  readonly met?: SeenKeys | undefined;
  /** Keys that other passes met since it began: no candidates for deletion either. */
  readonly seenByOthers: SeenKeys | null;
  readonly seenRejects: SeenKeys | null;
  /** Stamp of the newest page handled: what was published before needs no remembering for this pass. */
  readVersion: number;
  /** Called with each row of a page whose content is new to us, and its stamp (hub time, ms). */
  readonly onNew?: ((key: string, stampMs: number | null) => void) | undefined;
  /** What it is to publish although it is as it was. */
  readonly republication?: Republication | undefined;
}

/** Tells a pass of a change that one of its pages led to. */
export function reportNew({ onNew }: ActiveSync, change: Change): void {
  if (change.area === 'rows' && change.kind !== 'deleted') onNew?.(change.key, change.row.modifiedAtMs);
}

/** Whether a pass knows that the hub has a key: met by itself, or by another while it ran. */
export function hasMet(sync: ActiveSync, area: Change['area'], key: string): boolean {
  if (area === 'rejects') return sync.seenRejects?.has(key) === true;
  return sync.seen?.has(key) === true || sync.seenByOthers?.has(key) === true;
}

/** Keys of rows, and not of what could not be read. */
export function rowKeys(readings: readonly KeyedRow[]): string[] {
  return readings.flatMap(({ key, decoded: reading }) =>
    key !== null && reading.kind === 'row' ? [key] : [],
  );
}

/** Keys that a pass met on an earlier page: what a hub lists twice is decided by its first place. */
export function metIn(
  { seen, met: metByDelta }: ActiveSync,
  readings: readonly KeyedRow[],
): ReadonlySet<string> {
  const met = new Set<string>();
  const before = seen ?? metByDelta;
  if (before === undefined) return met;
  for (const { key } of readings) if (key !== null && before.has(key)) met.add(key);
  return met;
}

/** `pass`: the one that met them on its way; null where they were asked for. A row that any pass meets is present for all of them; so is an unreadable one (design, "Deletions"). */
export function markSeen(
  syncs: Iterable<ActiveSync>,
  sync: ActiveSync | null,
  readings: readonly KeyedRow[],
): void {
  for (const active of syncs) {
    const seen = active === sync ? (active.seen ?? active.met) : active.seenByOthers;
    if (seen === null || seen === undefined) continue;
    for (const { key, rejectKey, decoded: reading } of readings) {
      if (key !== null) seen.add(key);
      if (reading.kind === 'reject') active.seenRejects?.add(rejectKey);
    }
  }
}
