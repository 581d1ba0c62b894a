import { isBlank, MISFIT, readBoolean } from '../rows/field-readers.ts';
import { isJsonObject, isRawJson } from '../rows/raw-json.ts';
import { msOf, parseDate } from '../rows/timestamps.ts';
import { unreadableLessons } from './lesson-page.ts';
import { zoneClock, type ZoneClock } from '../zone-clock.ts';

/** The parts of a lesson that Rollcall reads. */
export type LessonPart = 'id' | 'title' | 'start' | 'end' | 'class' | 'teachers' | 'rooms' | 'cancelled';

/** The hub's field for each part. `a.b` is the member `b` of `a`. If `a` is a list, it is the member `b` of each element. */
export type LessonFields = Readonly<Record<LessonPart, string>>;

/** A reference as in every schema (spec 2.1). */
interface Reference {
  readonly sourcedId: string;
  readonly type: string | null;
  readonly href: string | null;
}

/** A published lesson without its `raw`. A part is null if the hub does not send it, or sends it in a form that only `raw` keeps. */
export interface LessonValues {
  readonly id: string | null;
  readonly title: string | null;
  /** ms since the epoch */
  readonly start: number | null;
  readonly end: number | null;
  readonly classes: readonly Reference[] | null;
  readonly teachers: readonly Reference[] | null;
  readonly rooms: readonly string[] | null;
  readonly cancelled: boolean | null;
}

export type DecodedLesson =
  | { readonly date: string; readonly values: LessonValues; readonly problem?: undefined }
  /** The start of the lesson, and therefore its day, is unknown. `problem` names fields and shapes, no values. */
  | { readonly date: null; readonly values?: undefined; readonly problem: string };

/**
 * Compiles the reader of lessons. A lesson without a start is unreadable, because the start gives its day. Any other
 * part that does not fit its type becomes null, and remains in `raw`. If no lesson has the configured start, the
 * configuration is wrong, and the reader throws.
 */
export function createLessonReader(options: {
  readonly fields: LessonFields;
  /** IANA name. */
  readonly timeZone: string;
}): (lessons: readonly unknown[]) => DecodedLesson[] {
  const { fields } = options;
  const zone = zoneClock(options.timeZone);
  const entries = Object.entries(fields) as [LessonPart, string][];
  const paths = new Map(entries.map(([part, name]) => [part, name.split('.')]));
  const find = (lesson: unknown, part: LessonPart): unknown => valueAt(lesson, paths.get(part) ?? []);
  const hasStart = (lesson: unknown): boolean => (find(lesson, 'start') ?? null) !== null;

  function read(lesson: unknown): DecodedLesson {
    if (!isJsonObject(lesson)) return { date: null, problem: 'a lesson is not an object' };
    const start = readTime(find(lesson, 'start'), zone);
    if (start === null) {
      const why = hasStart(lesson) ? 'cannot be read as a time' : 'is missing';
      return { date: null, problem: `\`${fields.start}\` of a lesson ${why}` };
    }
    const cancelled = readBoolean(find(lesson, 'cancelled'));
    return {
      date: start.date,
      values: {
        id: idText(find(lesson, 'id')),
        title: textOf(find(lesson, 'title')),
        start: start.ms,
        end: readTime(find(lesson, 'end'), zone)?.ms ?? null,
        classes: eachOf(find(lesson, 'class'), readReference),
        teachers: eachOf(find(lesson, 'teachers'), readReference),
        rooms: eachOf(find(lesson, 'rooms'), idText),
        cancelled: cancelled === MISFIT ? null : (cancelled as boolean),
      },
    };
  }

  return (lessons) => {
    if (lessons.length > 0 && !lessons.some(hasStart)) {
      throw unreadableLessons(`no lesson has the field \`${fields.start}\``, {
        met: lessons,
        remedy: 'Set schedules.fields.start to the name of this field at the hub (rollcall help schedules).',
      });
    }
    return lessons.map(read);
  };
}

function valueAt(place: unknown, path: readonly string[], at = 0): unknown {
  const name = path[at];
  if (name === undefined) return place;
  if (Array.isArray(place)) return place.map((element) => valueAt(element, path, at));
  return isJsonObject(place) && Object.hasOwn(place, name) ? valueAt(place[name], path, at + 1) : undefined;
}

/**
 * Reads three forms: a timestamp with an offset or `Z`; a timestamp without an offset, which is a local time of the
 * zone; and a date alone, which gives no instant. Null for anything else. `ms` is rounded down.
 */
function readTime(raw: unknown, zone: ZoneClock): { ms: number | null; date: string } | null {
  if (typeof raw !== 'string') return null;
  const instant = msOf(raw);
  if (instant !== null) return { ms: instant, date: zone.dateAt(instant) };
  const wall = msOf(`${raw}Z`);
  if (wall === null) return Number.isNaN(parseDate(raw)) ? null : { ms: null, date: raw };
  const ms = zone.instantOf(wall);
  return { ms, date: zone.dateAt(ms) };
}

/** One element or a list of elements. Null if one of them does not fit: a shorter list would be wrong. */
function eachOf<T>(raw: unknown, read: (element: unknown) => T | null): readonly T[] | null {
  const all: T[] = [];
  for (const element of Array.isArray(raw) ? (raw as unknown[]) : [raw]) {
    const one = read(element);
    if (one === null) return null;
    all.push(one);
  }
  return all;
}

/** A reference, or an id alone. */
function readReference(raw: unknown): Reference | null {
  if (!isJsonObject(raw)) {
    const id = idText(raw);
    return id === null ? null : { sourcedId: id, type: null, href: null };
  }
  const sourcedId = idText(raw['sourcedId']);
  return sourcedId === null ? null : { sourcedId, type: textOf(raw['type']), href: textOf(raw['href']) };
}

/** A text that is not blank, or the digits of a whole number. */
function idText(raw: unknown): string | null {
  if (typeof raw === 'number') return Number.isSafeInteger(raw) ? String(raw) : null;
  // A number that a double cannot hold has its digits in `rawJSON`.
  if (isRawJson(raw)) return /^-?\d{1,40}$/.test(raw.rawJSON) ? raw.rawJSON : null;
  return isBlank(raw) ? null : textOf(raw);
}

function textOf(raw: unknown): string | null {
  return typeof raw === 'string' && raw.isWellFormed() ? raw : null;
}
