import { Cron } from 'croner';

/** A time of each day, such as that of the daily full sync. */
export interface DailyTime {
  /** `HH:MM`, local to the time zone. */
  readonly at: string;
  /** IANA name. */
  readonly timeZone: string;
}

/** The last instant before `nowMs` at which it was this time of the day, ms since the epoch. */
export function lastDailyTime(time: DailyTime, nowMs: number): number {
  const daily = cached(time);
  const known = daily.days.find(({ lastMs, nextMs }) => nowMs > lastMs && nowMs < nextMs);
  if (known !== undefined) return known.lastMs;
  const lastMs = daily.cron.previousRuns(1, new Date(nowMs))[0]?.getTime() ?? 0;
  // `nextRuns` from now would not do: exactly at the due time, `previousRuns` still returns yesterday's run.
  const nextMs = daily.cron.nextRun(new Date(lastMs))?.getTime() ?? 0;
  daily.days = [{ lastMs, nextMs }, ...daily.days].slice(0, MOST_DAYS);
  return lastMs;
}

/** Results kept for each time: today's and those of two earlier days, by our clock, and again by a hub's clock that differs. */
const MOST_DAYS = 6;

/** A daily time, with its last results: each is valid for the instants between `lastMs` and `nextMs`. */
interface CachedTime {
  /** Paused: it holds no timer. */
  readonly cron: Cron;
  days: readonly { readonly lastMs: number; readonly nextMs: number }[];
}

// Both are expensive to create and are used often.
const times = new Map<string, CachedTime>();
const calendars = new Map<string, Intl.DateTimeFormat>();

function cached({ at, timeZone }: DailyTime): CachedTime {
  const key = `${at} ${timeZone}`;
  const known = times.get(key);
  if (known !== undefined) return known;
  const [hour, minute] = at.split(':').map(Number);
  const cron = new Cron(`0 ${minute} ${hour} * * *`, { timezone: timeZone, paused: true });
  const daily = { cron, days: [] };
  times.set(key, daily);
  return daily;
}

/** `YYYY-MM-DD` of an instant (ms since the epoch) in a time zone (IANA name). */
export function localDate(nowMs: number, timeZone: string): string {
  const known = calendars.get(timeZone);
  if (known !== undefined) return known.format(nowMs);
  // Swedish dates are written as in ISO 8601.
  const calendar = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
  calendars.set(timeZone, calendar);
  return calendar.format(nowMs);
}
