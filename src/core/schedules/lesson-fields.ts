import { isBlank } from '../field-readers.ts';
import { isJsonObject } from '../raw-json.ts';

/** The parts of a lesson that Rollcall reads. */
export type LessonPart =
  | 'id'
  | 'title'
  | 'date'
  | 'start'
  | 'end'
  | 'classes'
  | 'teachers'
  | 'rooms'
  | 'cancelled';

/**
 * The names to try for each part, in order. `a.b` is the member `b` of the member `a`; a member literally named `a.b` has
 * precedence.
 */
export type LessonFields = Readonly<Record<LessonPart, readonly string[]>>;

/**
 * The names without a setting (`schedules.fields`): those of OneRoster, SS 12000 `CalendarEvent`, FINT `Time` and
 * iCalendar-like APIs.
 */
export const DEFAULT_LESSON_FIELDS: LessonFields = {
  id: ['id', 'sourcedId', 'systemId', 'systemId.identifikatorverdi', 'lessonId', 'uid'],
  title: ['title', 'name', 'displayName', 'subject', 'summary', 'navn'],
  date: ['date', 'lessonDate', 'day', 'dato'],
  start: [
    'start',
    'startTime',
    'from',
    'startDateTime',
    'startsAt',
    'fromTime',
    'period.start',
    'tidsrom.start',
  ],
  end: ['end', 'endTime', 'to', 'endDateTime', 'endsAt', 'toTime', 'period.end', 'tidsrom.slutt'],
  classes: [
    'classes',
    'class',
    'groups',
    'group',
    'teachingGroups',
    'teachingGroup',
    '_links.class',
    '_links.group',
    '_links.undervisningsgruppe',
  ],
  teachers: ['teachers', 'teacher', 'employees', 'employee', '_links.teacher', '_links.undervisningsforhold'],
  rooms: ['rooms', 'room', 'locations', 'location', '_links.room', '_links.rom'],
  cancelled: ['cancelled', 'canceled', 'isCancelled', 'isCanceled', 'status', 'state'],
};

export interface FoundValue {
  readonly name: string;
  readonly value: unknown;
}

/** The values of a lesson under any of the names, in their order, without null and empty texts. */
export function valuesOf(lesson: Readonly<Record<string, unknown>>, names: readonly string[]): FoundValue[] {
  return names.flatMap((name) => {
    const value = memberAt(lesson, name);
    const isThere = value !== undefined && value !== null && !(typeof value === 'string' && isBlank(value));
    return isThere ? [{ name, value }] : [];
  });
}

function memberAt(lesson: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(lesson, name) || !name.includes('.')) return own(lesson, name);
  let place: unknown = lesson;
  for (const part of name.split('.')) {
    if (!isJsonObject(place)) return undefined;
    place = own(place, part);
  }
  return place;
}

function own(members: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
