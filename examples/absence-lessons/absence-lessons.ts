/**
 * Which lessons an absence touches (specification 1.1), for a program that holds the topics `absences` and `schedules`.
 * Pure, and without dependencies. The parameters are decoded values of those topics; they may have more fields.
 */

export interface Reference {
  readonly sourcedId: string;
}

/** What the rule uses of a value in `absences`. */
export interface Absence {
  /** Ms since the epoch; the absence begins with this instant. */
  readonly fromTime: number | null;
  /** Ms since the epoch; the absence ends before this instant. */
  readonly toTime: number | null;
  readonly student: Reference | null;
  /** Null: the absence concerns every class. */
  readonly classesAffected: Reference | null;
}

/** What the rule uses of a lesson in a value of `schedules`. */
export interface Lesson {
  readonly id: string | null;
  /** Ms since the epoch; null where the hub returns only the day. */
  readonly start: number | null;
  /** Like `start`. The lesson ends before this instant. */
  readonly end: number | null;
  /** Null where the hub does not return them in a readable form. */
  readonly classes: readonly Reference[] | null;
}

/**
 * Returns the lessons that an absence touches, sorted by start, end and id.
 *
 * Absence and lesson include their start and exclude their end: a lesson that begins when the absence ends is not touched.
 * Nothing touches an absence or a lesson without a start, without an end, or without duration. If the absence names a
 * class, only lessons of that class count; there may be none, or several a day. Cancelled lessons are included, too.
 *
 * @param days values of `schedules` of the absent student, at least those under {@link scheduleKeys}, in any order.
 */
export function lessonsOf<L extends Lesson>(
  absence: Absence,
  days: Iterable<{ readonly lessons: readonly L[] }>,
): L[] {
  const touched: L[] = [];
  for (const { lessons } of days) {
    for (const lesson of lessons) {
      if (isOfClass(lesson, absence.classesAffected) && overlaps(absence, lesson)) touched.push(lesson);
    }
  }
  return touched.sort(inOrder);
}

/** Days as in the keys of `schedules`, `YYYY-MM-DD`; both are included. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the keys in `schedules` under which the lessons of an absence may be, oldest day first.
 *
 * A lesson is under the day on which it begins, by the clock in the tenant's zone. So the first key is of the day before
 * the absence begins, for a lesson that lasts beyond midnight. None for an absence without student, start, end or duration.
 *
 * @param timeZone IANA name: `timeZone` of the tenant's records in `progress`. Throws RangeError for an unknown one.
 * @param held The oldest and the newest day that the program holds of the topic. An absence without a real beginning
 *   or end (year 1, year 9999) lasts for more than a million days, and has keys of these alone.
 */
export function scheduleKeys(absence: Absence, timeZone: string, held: Days): string[] {
  const { fromTime, toTime, student } = absence;
  const calendar = calendarIn(timeZone);
  if (student === null || fromTime === null || toTime === null || fromTime >= toTime) return [];
  const studentId = student.sourcedId.replaceAll('%', '%25').replaceAll('|', '%7C');
  const first = later(held.from, dayBefore(dayAt(fromTime, calendar)));
  const last = earlier(held.to, dayAt(toTime - 1, calendar));
  const keys: string[] = [];
  for (let day = first; day <= last; day = dayAfter(day)) {
    keys.push(`${studentId}|${day}`);
    if (day === LAST_DAY) break;
  }
  return keys;
}

function overlaps({ fromTime, toTime }: Absence, { start, end }: Lesson): boolean {
  if (fromTime === null || toTime === null || start === null || end === null) return false;
  return Math.max(fromTime, start) < Math.min(toTime, end);
}

function isOfClass({ classes }: Lesson, wanted: Reference | null): boolean {
  return wanted === null || (classes ?? []).some(({ sourcedId }) => sourcedId === wanted.sourcedId);
}

function inOrder(a: Lesson, b: Lesson): number {
  return (a.start ?? 0) - (b.start ?? 0) || (a.end ?? 0) - (b.end ?? 0) || compareIds(a.id ?? '', b.id ?? '');
}

function compareIds(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const DAY_MS = 86_400_000;
/** Days are compared as text, which tells their order as long as years have four digits. */
const FIRST_DAY = '1000-01-01';
const LAST_DAY = '9999-12-31';
const calendars = new Map<string, Intl.DateTimeFormat>();

/** Swedish dates are written as in ISO 8601. */
function calendarIn(timeZone: string): Intl.DateTimeFormat {
  const known = calendars.get(timeZone);
  if (known !== undefined) return known;
  const calendar = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
  calendars.set(timeZone, calendar);
  return calendar;
}

/** The day of an instant; {@link FIRST_DAY} and {@link LAST_DAY} stand for all before and after them. */
function dayAt(atMs: number, calendar: Intl.DateTimeFormat): string {
  if (atMs < Date.parse(FIRST_DAY) + DAY_MS) return FIRST_DAY;
  return atMs >= Date.parse(LAST_DAY) ? LAST_DAY : calendar.format(atMs);
}

function later(one: string, other: string): string {
  return one > other ? one : other;
}

function earlier(one: string, other: string): string {
  return one < other ? one : other;
}

/** Days of the calendar have 24 hours in UTC, whatever a zone's clock does. */
function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
}

function dayBefore(day: string): string {
  return new Date(Date.parse(day) - DAY_MS).toISOString().slice(0, 10);
}
