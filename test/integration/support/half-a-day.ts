const HALF_A_DAY_MS = 12 * 3_600_000;
const OSLO_TIME = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Oslo', timeStyle: 'short' });

/**
 * The time in Oslo half a day after `ms`, `HH:MM`. What happens daily at that time happens in no test that begins at `ms`,
 * at whatever time of the day that is.
 */
export function halfADayAfter(ms: number): string {
  return OSLO_TIME.format(ms + HALF_A_DAY_MS);
}
