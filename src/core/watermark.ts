import type { ReadableRow } from './rows/decoded-row.ts';
import { isAlreadyDeleted } from './rows/already-deleted.ts';
import type { Progress } from '../model/progress.ts';

/** Rule 4 of spec section 1: an incremental sync over more than a day returns the entire collection anyway. */
const REACH_MS = 24 * 3_600_000;
/** How much the difference between the hub's clock and ours may change between two syncs. */
const CLOCK_JUMP_MS = 120_000;
/** How far the watermark is before the beginning of a sync if the hub's clock is not trusted. */
const UNTRUSTED_OVERLAP_MS = 3_600_000;

export interface SyncClock {
  /** Start of the sync by the chosen clock, ms since the epoch. */
  readonly startedAtMs: number;
  /** `startedAtMs` minus the overlap: the sync sees every change before this time. */
  readonly watermarkMs: number;
  /** Hub clock minus ours, ms; null when the hub sends no time. */
  readonly skewMs: number | null;
}

/**
 * Chooses the clock of a sync. It is the hub's clock, because `dateLastModified` is compared with it (spec section 1,
 * rule 3). If the hub sends no time, or if its clock has jumped against ours since the last sync, it is our clock,
 * with a larger overlap.
 */
export function syncClock(options: {
  hubTimeMs: number | null;
  localTimeMs: number;
  previousSkewMs: number | null;
  overlapMs: number;
}): SyncClock {
  const { hubTimeMs, localTimeMs, previousSkewMs, overlapMs } = options;
  const skewMs = hubTimeMs === null ? null : hubTimeMs - localTimeMs;
  const jumped =
    skewMs !== null && previousSkewMs !== null && Math.abs(skewMs - previousSkewMs) > CLOCK_JUMP_MS;
  if (hubTimeMs === null || skewMs === null || jumped) {
    const overlap = Math.max(overlapMs, UNTRUSTED_OVERLAP_MS);
    // The earlier of the two clocks. If the watermark is too early, rows are read twice; if it is too late, changes
    // are lost.
    const startedAtMs = Math.min(localTimeMs, hubTimeMs ?? localTimeMs);
    // Keep the new skew, so that a corrected clock is trusted from the next sync on.
    return { startedAtMs, watermarkMs: startedAtMs - overlap, skewMs };
  }
  return { startedAtMs: hubTimeMs, watermarkMs: hubTimeMs - overlapMs, skewMs };
}

/** Whether an incremental sync is worthwhile: over more than a day a full sync returns the same and more. */
export function incrementalReaches(watermarkMs: number, hubNowMs: number): boolean {
  return hubNowMs - watermarkMs <= REACH_MS;
}

/**
 * Whether an incremental sync brings more than half of the known rows, as after the nightly re-stamp: a full sync then
 * costs little more and finds deletions. Callers skip this check when one page holds all rows.
 */
export function isOversized(rowsSeen: number, knownRows: number): boolean {
  return rowsSeen * 2 > knownRows;
}

/** The text about rows that incremental syncs missed. `filterSelectsNothing`: no incremental sync of the session ever brought a row. */
export function explainLate(filterSelectsNothing: boolean | null): string {
  const why = filterSelectsNothing
    ? "No incremental sync has brought a row, so the hub's filter on dateLastModified seems to select nothing: rollcall check tests it"
    : 'Either the hub changes rows without a new dateLastModified, or it takes longer than incrementalOverlap to show a row with a new one (then raise incrementalOverlap)';
  return `incremental syncs missed rows that the last full sync found. ${why}`;
}

/**
 * Whether incremental syncs missed a row with new content that a full sync finds. They missed it if it was modified
 * after the last complete full sync began, and not after the watermark. Rows that are deleted already do not count,
 * because they are left to full syncs. Null if this cannot be judged.
 */
export function lateRows(
  progress: Pick<Progress, 'watermarkMs' | 'lastCompleteFull'> | null,
): ((row: Pick<ReadableRow, 'value' | 'modifiedAtMs'>) => boolean) | null {
  const { watermarkMs = null, lastCompleteFull = null } = progress ?? {};
  if (watermarkMs === null || lastCompleteFull === null) return null;
  const afterMs = lastCompleteFull.startedAtMs;
  if (watermarkMs <= afterMs) return null;
  return (row) =>
    row.modifiedAtMs !== null &&
    row.modifiedAtMs > afterMs &&
    row.modifiedAtMs <= watermarkMs &&
    !isAlreadyDeleted(row, () => false);
}
