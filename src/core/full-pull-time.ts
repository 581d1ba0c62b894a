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
  const daily = new Cron(`0 ${Number(minute)} ${Number(hour)} * * *`, {
    timezone: time.timeZone,
    paused: true,
  });
  const previous = daily.previousRuns(1, new Date(nowMs))[0];
  daily.stop();
  return previous?.getTime() ?? 0;
}

/** `YYYY-MM-DD` of an instant in a time zone. */
export function localDate(nowMs: number, timeZone: string): string {
  // The Swedish way of writing a date is the ISO one.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(nowMs);
}
