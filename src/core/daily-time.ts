import { DAY_MS, zoneClock } from './zone-clock.ts';

/** A time of each day, such as that of the daily full sync. */
export interface DailyTime {
  /** `HH:MM`, local to the time zone. */
  readonly at: string;
  /** IANA name. */
  readonly timeZone: string;
}

/** The last instant before `nowMs` at which it was this time of day, ms since the epoch. */
export function lastDailyTime({ at, timeZone }: DailyTime, nowMs: number): number {
  const clock = zoneClock(timeZone);
  const todayMs = Date.parse(`${clock.dateAt(nowMs)}T${at}Z`);
  const lastMs = clock.instantOf(todayMs);
  return lastMs < nowMs ? lastMs : clock.instantOf(todayMs - DAY_MS);
}
