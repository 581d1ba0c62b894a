/** When there is school: an invented but Norwegian-shaped school year, days and lessons, in Oslo time. */

export const LESSONS_PER_DAY = 6;
const LESSON_MINUTES = 45;
const LESSON_STARTS = ['08:30', '09:25', '10:20', '11:45', '12:40', '13:35'];
const DAY_MS = 86_400_000;

/** `YYYY-MM-DD` of an instant, by the clock in Oslo. */
export function osloDate(ms: number): string {
  return new Date(ms + osloOffsetMs(ms)).toISOString().slice(0, 10);
}

/** The instant of `YYYY-MM-DD` `HH:MM` in Oslo. */
export function osloInstant(date: string, time: string): number {
  const asUtc = Date.parse(`${date}T${time}:00.000Z`);
  return asUtc - osloOffsetMs(asUtc - 3_600_000);
}

/** The n-th lesson of a day. */
export function lessonTimes(date: string, lesson: number): { startMs: number; endMs: number } {
  const startMs = osloInstant(date, LESSON_STARTS[lesson] ?? '08:30');
  return { startMs, endMs: startMs + LESSON_MINUTES * 60_000 };
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** 0 = Monday … 6 = Sunday */
export function weekday(date: string): number {
  return (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
}

/** The calendar year in which the school year of this date began. */
export function schoolYearOf(date: string): number {
  const year = Number(date.slice(0, 4));
  return date.slice(5) >= '08-01' ? year : year - 1;
}

export function isSchoolDay(date: string): boolean {
  if (weekday(date) > 4) return false;
  const day = date.slice(5);
  if (day > '06-18' && day < '08-17') return false;
  if (day >= '12-21' || day <= '01-02') return false;
  if (day >= '10-01' && day <= '10-07') return false;
  if (day >= '02-20' && day <= '02-26') return false;
  return !(day >= '03-29' && day <= '04-05') && day !== '05-01' && day !== '05-17';
}

/**
 * The school days up to this date, the date included: those of its school year, after the last ones of the year before.
 * Without these a district would have no absences and results in August. They begin on a fixed day, so that a later
 * date of the school year only adds days.
 */
export function schoolDaysUntil(date: string): string[] {
  const days: string[] = [];
  for (let day = `${schoolYearOf(date)}-06-01`; day <= date; day = addDays(day, 1)) {
    if (isSchoolDay(day)) days.push(day);
  }
  return days;
}

/** Summer time lasts from the last Sunday of March to the last Sunday of October, 01:00 UTC. */
function osloOffsetMs(ms: number): number {
  const year = new Date(ms).getUTCFullYear();
  let summer = SUMMERS.get(year);
  if (summer === undefined) {
    summer = { from: lastSunday(year, 2), to: lastSunday(year, 9) };
    SUMMERS.set(year, summer);
  }
  return (ms >= summer.from && ms < summer.to ? 2 : 1) * 3_600_000;
}

const SUMMERS = new Map<number, { from: number; to: number }>();

function lastSunday(year: number, month: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0, 1));
  return last.getTime() - last.getUTCDay() * DAY_MS;
}
