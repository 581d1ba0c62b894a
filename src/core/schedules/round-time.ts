import { lastFullPullDue, type FullPullTime } from '../full-pull-time.ts';

const HOUR_MS = 3_600_000;
/** Time at the end of a full sync for students who need another request. */
const RESERVE_MS = HOUR_MS;
/** How far the hub's clock, which dates the start of a full sync, may be behind ours. */
const TOLERANCE_MS = 60_000;
/** When the last full sync began this long before the due time, an entire day is missing. */
const MISSED_MS = 25 * HOUR_MS;

export interface RoundPlan {
  /** The due time, ms since the epoch. */
  readonly dueMs: number;
  /** The end of the time over which its requests are spread, ms since the epoch; not after now: without pauses. */
  readonly endMs: number;
}

/**
 * The full sync of schedules that begins now; null while the last one is current. It is due at the daily full pull, and
 * is spread until an hour before the next one; the first one, and one after a missed day, runs without pauses.
 */
export function roundDue(options: {
  readonly fullPull: FullPullTime;
  readonly nowMs: number;
  /** Due time of the last full sync of this process, ms since the epoch; null for none. */
  readonly lastDueMs: number | null;
  /** Start of the last complete full sync, ms since the epoch; null for none. */
  readonly lastCompleteMs: number | null;
}): RoundPlan | null {
  const { fullPull, nowMs, lastDueMs, lastCompleteMs } = options;
  const dueMs = lastFullPullDue(fullPull, nowMs);
  const isBegun =
    lastDueMs === null
      ? lastCompleteMs !== null && lastCompleteMs >= dueMs - TOLERANCE_MS
      : lastDueMs >= dueMs;
  if (isBegun) return null;
  const isMissed = lastCompleteMs === null || lastCompleteMs < dueMs - MISSED_MS;
  return { dueMs, endMs: isMissed ? nowMs : nextDue(fullPull, dueMs) - RESERVE_MS };
}

/** The next due time after `dueMs`. A day has 23 to 25 hours. */
export function nextDue(fullPull: FullPullTime, dueMs: number): number {
  return lastFullPullDue(fullPull, dueMs + 30 * HOUR_MS);
}
