/** Days as `YYYY-MM-DD`, both included. */
export interface DayWindow {
  readonly from: string;
  readonly to: string;
}

const DAY_MS = 86_400_000;

/** `YYYY-MM-DD` so many days later. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The days around today that are mirrored. */
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
 * The days to ask the hub for: one more at either end. The specification leaves open whether `to` is included and in
 * which zone the hub's days begin; a day at the edge must not look as if it had no lessons.
 */
export function askedDays(window: DayWindow): DayWindow {
  return { from: addDays(window.from, -1), to: addDays(window.to, 1) };
}

/** The days that stand in both; none where `from` is after `to`. */
export function overlap(one: DayWindow, other: DayWindow): DayWindow {
  return {
    from: one.from > other.from ? one.from : other.from,
    to: one.to < other.to ? one.to : other.to,
  };
}
