import { Cron } from 'croner';

export interface FullSyncTime {
  /** `HH:MM`, local to the time zone. */
  readonly at: string;
  /** IANA name. */
  readonly timeZone: string;
}

/** The last time before `nowMs` at which the daily full sync was due, ms since the epoch. */
export function lastFullSyncDue(time: FullSyncTime, nowMs: number): number {
  const [hour = '0', minute = '0'] = time.at.split(':');
  const daily = dailyAt(Number(hour), Number(minute), time.timeZone);
  const known = daily.days.find(({ lastMs, nextMs }) => nowMs > lastMs && nowMs < nextMs);
  if (known !== undefined) return known.lastMs;
  const lastMs = daily.cron.previousRuns(1, new Date(nowMs))[0]?.getTime() ?? 0;
  // `nextRuns` from now would not do: exactly at the due time, `previousRuns` still returns yesterday's run.
  const nextMs = daily.cron.nextRun(new Date(lastMs))?.getTime() ?? 0;
  daily.days = [{ lastMs, nextMs }, ...daily.days].slice(0, MOST_DAYS);
  return lastMs;
}

/** Today, the days before that lateness looks back to, and the same on a hub's clock that differs. */
const MOST_DAYS = 6;

/** A daily time, with its last results cached: each is valid for the instants between `lastMs` and `nextMs`. */
interface Daily {
  /** Paused: it holds no timer. */
  readonly cron: Cron;
  days: readonly { readonly lastMs: number; readonly nextMs: number }[];
}

// Both are expensive to create and are used often.
const schedules = new Map<string, Daily>();
const calendars = new Map<string, Intl.DateTimeFormat>();

function dailyAt(hour: number, minute: number, timeZone: string): Daily {
  const key = `${hour}:${minute} ${timeZone}`;
  const known = schedules.get(key);
  if (known !== undefined) return known;
  const cron = new Cron(`0 ${minute} ${hour} * * *`, { timezone: timeZone, paused: true });
  const daily = { cron, days: [] };
  schedules.set(key, daily);
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
