import { lastFullPullDue, type FullPullTime } from '../full-pull-time.ts';

const HOUR_MS = 3_600_000;
/** Left at the end of a round for those who have to be asked once more. */
const RESERVE_MS = HOUR_MS;
/** How far the hub's clock, by which a round's beginning is told, may be behind ours. */
const TOLERANCE_MS = 60_000;
/** A round that began this long before the one that was due means that a whole day is missing. */
const MISSED_MS = 25 * HOUR_MS;

export interface RoundPlan {
  /** When it was due, ms since the epoch. */
  readonly dueMs: number;
  /** Until when its requests are spread; not after now where they are made as fast as they may be. */
  readonly endMs: number;
}

/**
 * The round that is to begin now; null while the last one stands. Rounds are due when full pulls are, and are spread
 * until an hour before the next is due; the first one, and one after a day without any, is not spread.
 */
export function roundDue(options: {
  readonly fullPull: FullPullTime;
  readonly nowMs: number;
  /** When the last round of this process was due; null before there was one. */
  readonly lastDueMs: number | null;
  /** When the last complete round began; null for none. */
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

/** Days have 23 to 25 hours. */
export function nextDue(fullPull: FullPullTime, dueMs: number): number {
  return lastFullPullDue(fullPull, dueMs + 30 * HOUR_MS);
}
