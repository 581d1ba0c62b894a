import { readBoolean, MISFIT } from '../field-readers.ts';
import { valuesOf, type FoundValue, type LessonFields, type LessonPart } from './lesson-fields.ts';
import { idText, readReferences, readRooms, type Reference } from './lesson-references.ts';
import { readLessonDate, readLessonTime, type LessonTime } from './lesson-time.ts';
import type { ZoneClock } from './zone-clock.ts';

/** A published lesson without its `raw`. Null: the hub does not send the part, or only in a form that `raw` alone keeps. */
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
  | { readonly kind: 'lesson'; readonly date: string; readonly values: LessonValues }
  /** `date` null: even its day is unknown. `reason` names fields and shapes, no values. */
  | { readonly kind: 'unreadable'; readonly date: string | null; readonly reason: string };

type Lesson = Readonly<Record<string, unknown>>;

/**
 * Reads one lesson by the names in `mapping.fields`. A lesson is unreadable when its day is unknown, or when it has a
 * start or an end that is no time. Any other part that does not fit becomes null and remains in `raw`.
 */
export function readLesson(
  lesson: Lesson,
  mapping: { fields: LessonFields; zone: ZoneClock },
): DecodedLesson {
  const { fields, zone } = mapping;
  const found = (part: LessonPart): FoundValue[] => valuesOf(lesson, fields[part]);
  const date = firstThat(found('date'), ({ value }) => readLessonDate(value, zone));
  const start = readTime(found('start'), { zone, date });
  if (start === 'unreadable') return unreadable(date, 'its start cannot be read as a time');
  const day = start?.date ?? date;
  if (day === null) return unreadable(null, `it has no start under any of ${fields.start.join(', ')}`);
  const end = readTime(found('end'), { zone, date: day });
  if (end === 'unreadable') return unreadable(day, 'its end cannot be read as a time');
  return {
    kind: 'lesson',
    date: day,
    values: {
      id: firstThat(found('id'), ({ value }) => idText(value)),
      title: firstThat(found('title'), ({ value }) => titleOf(value)),
      start: start?.ms ?? null,
      end: end?.ms ?? null,
      classes: firstThat(found('classes'), ({ value }) => readReferences(value)),
      teachers: firstThat(found('teachers'), ({ value }) => readReferences(value)),
      rooms: firstThat(found('rooms'), ({ value }) => readRooms(value)),
      cancelled: firstThat(found('cancelled'), readCancelled),
    },
  };
}

function unreadable(date: string | null, reason: string): DecodedLesson {
  return { kind: 'unreadable', date, reason };
}

function firstThat<T>(found: readonly FoundValue[], read: (value: FoundValue) => T | null): T | null {
  for (const each of found) {
    const value = read(each);
    if (value !== null) return value;
  }
  return null;
}

/** Null when there is none. */
function readTime(
  found: readonly FoundValue[],
  context: { zone: ZoneClock; date: string | null },
): LessonTime | 'unreadable' | null {
  const time = firstThat(found, ({ value }) => readLessonTime(value, context));
  return time ?? (found.length > 0 ? 'unreadable' : null);
}

/** A text, or the name of an object that represents a subject. */
function titleOf(value: unknown): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? value : null;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const texts = valuesOf(value as Lesson, ['title', 'name', 'displayName', 'navn']);
  return firstThat(texts, (text) => (typeof text.value === 'string' ? titleOf(text.value) : null));
}

const CANCELLED = /^(?:cancell?ed|avlyst|innstilt|inställd|aflyst)$/i;
const STATE_NAME = /stat(?:e|us)$/i;

/** A boolean in any spelling, or a word for "cancelled"; in a field that holds a state, every other word means false. */
function readCancelled({ name, value }: FoundValue): boolean | null {
  if (typeof value === 'string' && CANCELLED.test(value.trim())) return true;
  if (STATE_NAME.test(name)) return typeof value === 'string' ? false : null;
  const flag = readBoolean(value);
  return flag === MISFIT ? null : (flag as boolean);
}
