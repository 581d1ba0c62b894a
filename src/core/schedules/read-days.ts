import { mappingDigest, shortDigest } from '../content-hash.ts';
import { canonicalText, jsonText } from '../json-text.ts';
import { parseLossless } from '../lossless-json.ts';
import { MAPPING_VERSION } from '../mapping.ts';
import type { KeyedRow } from '../row-changes.ts';
import { pseudonymise } from '../pseudonymise.ts';
import { isJsonObject } from '../raw-json.ts';
import type { DecodedRow, UnreadableRow } from '../decoded-row.ts';
import { parseDate } from '../timestamps.ts';
import { compositeKey } from '../../model/keys.ts';
import { createLessonContent, type LessonContent } from './lesson-content.ts';
import type { LessonFields } from './lesson-fields.ts';
import { readLesson, type LessonValues } from './read-lesson.ts';
import { daysOf, isInWindow, type DayWindow } from './window.ts';
import { createZoneClock, type ZoneClock } from './zone-clock.ts';

/** Leaves room for key, headers and framing below Kafka's default `max.message.bytes` of 1 MiB. */
const MAX_RECORD_BYTES = 900_000;
const DAY_MS = 86_400_000;

/** Value of a record in `schedules` (contract). */
export interface DaySchedule {
  readonly student: string;
  /** Days since 1970-01-01. */
  readonly date: number;
  readonly lessons: readonly (LessonValues & { readonly raw: string })[];
}

export interface DayReaderOptions {
  readonly fields: LessonFields;
  /** IANA name. Times without an offset, and days, are in this zone. */
  readonly timeZone: string;
  /** Top-level fields of the lessons; see the settings of a collection. */
  readonly drop: readonly string[];
  readonly pseudonymise: readonly string[];
  /** Required when anything is pseudonymised. */
  readonly pseudonymiseKey?: string | undefined;
  readonly ignore: readonly string[];
}

/** A student's lessons, day by day. */
export type StudentDays =
  | {
      readonly kind: 'days';
      /** Days with lessons; a day with an unreadable lesson is a reject. */
      readonly filled: readonly KeyedRow[];
      /** The window's other days, as values without lessons. */
      readonly empty: readonly KeyedRow[];
      /** The answer has no lesson at all, inside or outside of the window. */
      readonly isBlank: boolean;
    }
  /** The day of a lesson is unknown. It can be any day, so no day is known to be complete. */
  | { readonly kind: 'unreadable'; readonly row: KeyedRow };

export interface DayReader {
  /** `lessons` from the hub; lessons outside the window are skipped. */
  read(answer: {
    readonly student: string;
    readonly window: DayWindow;
    readonly lessons: readonly unknown[];
    /** False when U+FFFD replaced bytes that are not UTF-8. */
    readonly isUtf8: boolean;
  }): StudentDays;
  /** A reject for a student whose lessons alone the hub does not return; `reason` holds no content. */
  rejectStudent(student: string, reason: string): KeyedRow;
  /** The hash that a day read back from a record must have. */
  readonly hashOf?: ((day: DaySchedule) => Buffer) | undefined;
}

/** Key in `rejects`, after `schedules|`, of a reject that concerns a student and no single day. */
export function studentRejectKey(student: string): string {
  return compositeKey(student, '*');
}

interface ReadLesson {
  readonly values: LessonValues;
  readonly raw: string;
  readonly content: string;
}

interface Day {
  readonly lessons: ReadLesson[];
  readonly problems: string[];
  /** All lessons of the day, masked. */
  readonly shown: unknown[];
}

/** Compiles the reader of lessons into days (contract, "Values of Rollcall's own"). */
export function createDayReader(options: DayReaderOptions): DayReader {
  const zone = createZoneClock(options.timeZone);
  const mask = createMask(options);
  const contentOf = createLessonContent(options);
  const prefix = hashPrefix(options);
  const digest = (texts: readonly unknown[]): Buffer => shortDigest(`${prefix}\n${JSON.stringify(texts)}`);
  /** Like the hash of a day, that of a reject ignores order and modification times. */
  const reject = (rejectId: string, problems: readonly string[], shown: readonly unknown[]): DecodedRow => {
    const reason = [...new Set(problems)].join('; ');
    const contents = shown.map((raw) => (isJsonObject(raw) ? contentOf(raw) : canonicalText(raw)));
    const hash = digest([reason, ...contents.toSorted()]);
    return rejectOf({ rejectId, reason, shown: mayShow(shown, options) ? shown : [], hash });
  };

  function decodedDay(student: string, date: string, day: Day | null): KeyedRow {
    const key = compositeKey(student, date);
    const sorted = (day?.lessons ?? []).toSorted(byTime);
    const lessons = sorted.filter(({ content }, at) => content !== sorted[at - 1]?.content);
    const hash = digest([student, date, ...lessons.map(({ content }) => content)]);
    const size = lessons.reduce((sum, { raw }) => sum + Buffer.byteLength(raw) * 2, 0);
    const problems = [...(day?.problems ?? [])];
    if (size > MAX_RECORD_BYTES) problems.push('the day is too large for a record');
    if (problems.length > 0) {
      return { key, rejectKey: key, decoded: reject(key, problems, day?.shown ?? []) };
    }
    const value: DaySchedule = {
      student,
      date: parseDate(date),
      lessons: lessons.map(({ values, raw }) => ({ ...values, raw })),
    };
    const decoded: DecodedRow = {
      kind: 'row',
      sourcedId: key,
      value,
      hash,
      modifiedAtMs: null,
    };
    return { key, rejectKey: key, decoded, becameEmpty: lessons.length === 0 };
  }

  function rejectStudent(student: string, problems: readonly string[], shown: readonly unknown[]): KeyedRow {
    const key = studentRejectKey(student);
    return { key, rejectKey: key, decoded: reject(key, problems, shown) };
  }

  return {
    rejectStudent: (student, reason) => rejectStudent(student, [reason], []),
    hashOf: (day) => digest(contentsOf(day, contentOf)),
    read({ student, window, lessons, isUtf8 }) {
      const { days, undated } = byDay(lessons, {
        window,
        isUtf8,
        zone,
        mask,
        contentOf,
        fields: options.fields,
      });
      if (undated.problems.length > 0) {
        return { kind: 'unreadable', row: rejectStudent(student, undated.problems, undated.shown) };
      }
      const all = daysOf(window).map((date) => ({ day: days.get(date) ?? null, date }));
      return {
        kind: 'days',
        filled: all.flatMap(({ date, day }) => (day === null ? [] : [decodedDay(student, date, day)])),
        empty: all.flatMap(({ date, day }) => (day === null ? [decodedDay(student, date, null)] : [])),
        isBlank: lessons.length === 0,
      };
    },
  };
}

type Lesson = Readonly<Record<string, unknown>>;

/** Lessons by their day in the window; `undated`: those whose day cannot be read. */
function byDay(
  lessons: readonly unknown[],
  options: {
    window: DayWindow;
    isUtf8: boolean;
    zone: ZoneClock;
    fields: LessonFields;
    mask: ReturnType<typeof createMask>;
    contentOf: LessonContent;
  },
): { days: ReadonlyMap<string, Day>; undated: Pick<Day, 'problems' | 'shown'> } {
  const { window, mask, contentOf } = options;
  const days = new Map<string, Day>();
  const undated: Pick<Day, 'problems' | 'shown'> = { problems: [], shown: [] };
  for (const given of lessons) {
    const raw = isJsonObject(given) ? mask(given) : given;
    const read = readOne(raw, options);
    if (read.kind === 'unreadable' && read.date === null) {
      undated.problems.push(`a lesson: ${read.reason}`);
      undated.shown.push(raw);
    } else if (read.date !== null && isInWindow(read.date, window)) {
      const day = days.get(read.date) ?? { lessons: [], problems: [], shown: [] };
      days.set(read.date, day);
      day.shown.push(raw);
      if (read.kind === 'unreadable') day.problems.push(`a lesson: ${read.reason}`);
      else day.lessons.push({ values: read.values, raw: jsonText(raw), content: contentOf(raw as Lesson) });
    }
  }
  return { days, undated };
}

/** The texts that the hash of a published day covers. */
function contentsOf({ student, date, lessons }: DaySchedule, contentOf: LessonContent): readonly string[] {
  const day = new Date(date * DAY_MS).toISOString().slice(0, 10);
  return [student, day, ...lessons.map(({ raw }) => contentOf(parseLossless(raw) as Lesson))];
}

function readOne(
  lesson: unknown,
  context: { isUtf8: boolean; zone: ZoneClock; fields: LessonFields },
): ReturnType<typeof readLesson> {
  if (!isJsonObject(lesson)) return { kind: 'unreadable', date: null, reason: 'it is not an object' };
  const read = readLesson(lesson, context);
  if (context.isUtf8 || read.kind === 'unreadable' || !jsonText(lesson).includes('\uFFFD')) return read;
  return { kind: 'unreadable', date: read.date, reason: 'its text is not UTF-8' };
}

/** By start, end, id and finally content, so that the order does not depend on the hub's. */
function byTime(one: ReadLesson, other: ReadLesson): number {
  return (
    (one.values.start ?? 0) - (other.values.start ?? 0) ||
    (one.values.end ?? 0) - (other.values.end ?? 0) ||
    compareTexts(one.values.id ?? '', other.values.id ?? '') ||
    compareTexts(one.content, other.content)
  );
}

function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

function rejectOf(reject: {
  rejectId: string;
  reason: string;
  shown: readonly unknown[];
  hash: Buffer;
}): UnreadableRow {
  const { rejectId, reason, shown, hash } = reject;
  const text = shown.length === 0 ? null : jsonText(shown);
  return {
    kind: 'reject',
    sourcedId: rejectId,
    rejectId,
    reason,
    text: text === null || Buffer.byteLength(text) > MAX_RECORD_BYTES ? null : text,
    modifiedAtMs: null,
    hash,
  };
}

/** A lesson that is not an object has no fields to mask, so its text may contain data that the mapping takes out. */
function mayShow(shown: readonly unknown[], { drop, pseudonymise: masked }: DayReaderOptions): boolean {
  return (drop.length === 0 && masked.length === 0) || shown.every(isJsonObject);
}

/** Removes dropped fields of a lesson and replaces pseudonymised ones. */
function createMask(options: DayReaderOptions): (lesson: Lesson) => Lesson {
  const dropped = new Set(options.drop);
  const pseudonymised = new Set(options.pseudonymise);
  const key = options.pseudonymiseKey ?? '';
  if (pseudonymised.size > 0 && key === '') throw new Error('pseudonyms need a key');
  if (dropped.size === 0 && pseudonymised.size === 0) return (lesson) => lesson;
  return (lesson) => {
    const masked = Object.create(null) as Record<string, unknown>;
    for (const [name, value] of Object.entries(lesson)) {
      if (!dropped.has(name)) masked[name] = pseudonymised.has(name) ? pseudonymise(value, key) : value;
    }
    return masked;
  };
}

/** A changed mapping changes every hash, as for the other collections. */
function hashPrefix(options: DayReaderOptions): string {
  const { drop, pseudonymise: masked, ignore, fields, timeZone } = options;
  const digest = mappingDigest({ mappingVersion: MAPPING_VERSION, drop, pseudonymise: masked, ignore });
  return `${digest.toString('hex')} ${timeZone} ${canonicalText(fields)}`;
}
