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
  const previous = dailyAt(Number(hour), Number(minute), time.timeZone).previousRuns(1, new Date(nowMs))[0];
  return previous?.getTime() ?? 0;
}

// Both are made anew far more slowly than they are asked.
const schedules = new Map<string, Cron>();
const calendars = new Map<string, Intl.DateTimeFormat>();

/** Paused: it holds no timer. */
function dailyAt(hour: number, minute: number, timeZone: string): Cron {
  const key = `${hour}:${minute} ${timeZone}`;
  const known = schedules.get(key);
  if (known !== undefined) return known;
  const daily = new Cron(`0 ${minute} ${hour} * * *`, { timezone: timeZone, paused: true });
  schedules.set(key, daily);
  return daily;
}

/** `YYYY-MM-DD` of an instant in a time zone. */
export function localDate(nowMs: number, timeZone: string): string {
  const known = calendars.get(timeZone);
  if (known !== undefined) return known.format(nowMs);
  // The Swedish way of writing a date is the ISO one.
  const calendar = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
  calendars.set(timeZone, calendar);
  return calendar.format(nowMs);
}
