import { formatDate, parseDate } from '../rows/timestamps.ts';

/** Days as `YYYY-MM-DD`, both included. */
export interface DayWindow {
  readonly from: string;
  readonly to: string;
}

/** `YYYY-MM-DD` plus a number of days. */
export function addDays(date: string, days: number): string {
  return formatDate(parseDate(date) + days);
}

/** The mirrored days around today. */
export function windowAround(
  today: string,
  size: { readonly daysBack: number; readonly daysAhead: number },
): DayWindow {
  return { from: addDays(today, -size.daysBack), to: addDays(today, size.daysAhead) };
}

export function isInWindow(date: string, window: DayWindow): boolean {
  return date >= window.from && date <= window.to;
}

/** Every day of a window, in order. */
export function daysOf(window: DayWindow): string[] {
  const days: string[] = [];
  for (let day = window.from; day <= window.to; day = addDays(day, 1)) days.push(day);
  return days;
}

/**
 * The days of a request: one more at either end. The specification says neither whether `to` is included nor in which
 * time zone the hub's days begin. A day at the edge of the window must not seem to have no lessons.
 */
export function askedDays(window: DayWindow): DayWindow {
  return { from: addDays(window.from, -1), to: addDays(window.to, 1) };
}
