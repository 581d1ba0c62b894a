/** Rule 4 of spec section 1: beyond a day a delta brings the whole collection anyway. */
const DELTA_REACH_MS = 24 * 3_600_000;
/** How far the difference between the hub's clock and ours may move between two passes. */
const CLOCK_JUMP_MS = 120_000;
/** Overlap when the hub's clock cannot be trusted. */
const UNTRUSTED_OVERLAP_MS = 3_600_000;

export interface SyncClock {
  /** Time at the pass's start by the clock that was used, ms since the epoch. */
  readonly startedAtMs: number;
  /** Everything changed before this is seen by the pass: `startedAtMs` less the overlap. */
  readonly watermarkMs: number;
  /** Hub clock minus ours; null when the hub's was not used. */
  readonly skewMs: number | null;
}

/**
 * The clock of a pass: the hub's own, because its `dateLastModified` is compared with it (spec section 1, rule 3);
 * ours with a larger overlap where it sends none or one that has jumped against ours since the last pass.
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
    // The earlier of the two: too early a watermark costs rows read twice, too late a one loses changes.
    const startedAtMs = Math.min(localTimeMs, hubTimeMs ?? localTimeMs);
    // A jump is remembered, so that a clock that was set right is trusted from the next pass on.
    return { startedAtMs, watermarkMs: startedAtMs - overlap, skewMs };
  }
  return { startedAtMs: hubTimeMs, watermarkMs: hubTimeMs - overlapMs, skewMs };
}

/**
 * From where a delta reads, hub time in ms. The stored watermark is less by the overlap that was in force when it was
 * stored, which nobody knows any more after a restart: then the delta reaches back by the overlap in force once more, so
 * that a raised overlap counts at once. Rows read twice are no change.
 */
export function deltaFrom(options: {
  readonly watermarkMs: number;
  /** The watermark was stored before this session. */
  readonly isInherited: boolean;
  readonly overlapMs: number;
}): number {
  const { watermarkMs, isInherited, overlapMs } = options;
  return isInherited ? watermarkMs - overlapMs : watermarkMs;
}

/** A delta further back than a day is not worth its filter: a full pass sees the same and more. */
export function deltaReaches(watermarkMs: number, hubNowMs: number): boolean {
  return hubNowMs - watermarkMs <= DELTA_REACH_MS;
}

/**
 * A delta that brings more than half of what is known is the nightly re-stamp, or as good as one: a full pass costs
 * little more and finds what vanished. Not worth asking of a delta that one page holds.
 */
export function isOversizedDelta(rowsSeen: number, knownRows: number): boolean {
  return rowsSeen * 2 > knownRows;
}
