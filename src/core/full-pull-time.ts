import { Cron } from 'croner';

export interface FullPullTime {
  /** `HH:MM`, local to the time zone. */
  readonly at: string;
  /** IANA name. */
  readonly timeZone: string;
}

/** The last time before `nowMs` at which the daily full pull was due, ms since the epoch. */
export function lastFullPullDue(time: FullPullTime, nowMs: number): number {
  const [hour = '0', minute = '0'] = time.at.split(':');
  const daily = dailyAt(Number(hour), Number(minute), time.timeZone);
  if (nowMs > daily.lastMs && nowMs < daily.nextMs) return daily.lastMs;
  daily.lastMs = daily.cron.previousRuns(1, new Date(nowMs))[0]?.getTime() ?? 0;
  // Not the next from now: exactly at the due time, `previousRuns` still returns yesterday's.
  daily.nextMs = daily.cron.nextRun(new Date(daily.lastMs))?.getTime() ?? 0;
  return daily.lastMs;
}

/** A daily time, with its last result cached: it is valid until `nextMs`. */
interface Daily {
  /** Paused: it holds no timer. */
  readonly cron: Cron;
  lastMs: number;
  nextMs: number;
}

// Both are expensive to create and are used often.
const schedules = new Map<string, Daily>();
const calendars = new Map<string, Intl.DateTimeFormat>();

function dailyAt(hour: number, minute: number, timeZone: string): Daily {
  const key = `${hour}:${minute} ${timeZone}`;
  const known = schedules.get(key);
  if (known !== undefined) return known;
  const cron = new Cron(`0 ${minute} ${hour} * * *`, { timezone: timeZone, paused: true });
  const daily = { cron, lastMs: 0, nextMs: 0 };
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
