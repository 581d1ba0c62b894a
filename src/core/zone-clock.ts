export const DAY_MS = 86_400_000;

/** Local time in one time zone. */
export interface ZoneClock {
  /**
   * The local date, `YYYY-MM-DD`, at an instant (ms since the epoch). East of Greenwich, the end of 9999 is in the year
   * 10000, which such a date cannot hold: it counts as the last day of 9999.
   */
  readonly dateAt: (ms: number) => string;
  /**
   * The instant (ms since the epoch) of a local time, which is given in ms as if it were UTC. As in RFC 5545 and
   * Temporal's `compatible`, a time that the clock skips moves later by the length of the jump. If a time occurs
   * twice, the first one counts.
   */
  readonly instantOf: (wallMs: number) => number;
}

/** The start of the last day of 9999. */
const LAST_MS = Date.parse('9999-12-31');
/** Offsets that are in use today change only at full quarter hours of UTC. */
const BLOCK_MS = 900_000;
const BLOCKS_KEPT = 4096;
const LOCAL_LENGTH = 'YYYY-MM-DDThh:mm:ss'.length;

const clocks = new Map<string, ZoneClock>();

/** `timeZone`: IANA name; throws RangeError for an unknown one. */
export function zoneClock(timeZone: string): ZoneClock {
  // A clock is expensive to create, and remembers offsets.
  const clock = clocks.get(timeZone) ?? createClock(timeZone);
  clocks.set(timeZone, clock);
  return clock;
}

function createClock(timeZone: string): ZoneClock {
  // Swedish times are written as in ISO 8601, except in years before 1000.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const offsets = new Map<number, number>();

  /** Local time minus UTC, ms. */
  function offsetAt(ms: number): number {
    const block = Math.floor(Math.min(ms, LAST_MS) / BLOCK_MS);
    const known = offsets.get(block);
    if (known !== undefined) return known;
    if (offsets.size >= BLOCKS_KEPT) offsets.clear();
    const local = format
      .format(block * BLOCK_MS)
      .replace(' ', 'T')
      .padStart(LOCAL_LENGTH, '0');
    const offset = Date.parse(`${local}Z`) - block * BLOCK_MS;
    offsets.set(block, offset);
    return offset;
  }

  return {
    dateAt: (ms) => new Date(Math.min(ms + offsetAt(ms), LAST_MS)).toISOString().slice(0, 10),
    instantOf(wallMs) {
      const [before, after] = [offsetAt(wallMs - DAY_MS), offsetAt(wallMs + DAY_MS)];
      const first = wallMs - before;
      if (before === after || offsetAt(first) === before) return first;
      const second = wallMs - after;
      return offsetAt(second) === after ? second : first;
    },
  };
}
