import { createMask } from '../rows/pseudonymise.ts';
import { isJsonObject } from '../rows/raw-json.ts';
import type { KeyedRow } from '../rows/compare-with-published.ts';
import { canonicalText, jsonText } from '../rows/json-text.ts';
import { parseLossless } from '../rows/lossless-json.ts';
import { formatDate, parseDate } from '../rows/timestamps.ts';
import { ALL, compositeKey } from '../../model/keys.ts';
import {
  createLessonReader,
  type DecodedLesson,
  type LessonValues,
  type LessonFields,
} from './read-lesson.ts';
import { daysOf, isInWindow, type DayWindow } from './window.ts';
import { mappingDigest, shortDigest, type RowMapping } from '../rows/content-hash.ts';
import { MAX_RECORD_BYTES } from '../rows/decoded-row.ts';
import { SET_FIELDS } from '../rows/mapping-rules.ts';

/** Value of a record in `schedules` (contract). */
export interface DaySchedule {
  readonly student: string;
  /** Days since 1970-01-01. */
  readonly date: number;
  readonly lessons: readonly PublishedLesson[];
}

interface PublishedLesson extends LessonValues {
  readonly raw: string;
}

export interface StudentLessons {
  readonly student: string;
  readonly window: DayWindow;
  /** From the hub. Lessons outside the window are skipped. */
  readonly lessons: readonly unknown[];
  /** False when U+FFFD replaced bytes that are not UTF-8. */
  readonly isUtf8: boolean;
}

/** A student's lessons, day by day. */
export interface StudentDays {
  /**
   * A row for every day of the window, including days without lessons. A day that cannot be published is a reject. If
   * the day of a lesson is unknown, there is only one reject, for all days.
   */
  readonly rows: readonly KeyedRow[];
  /**
   * True if there is one reject for all days: a lesson whose day is unknown may belong to any of them, so no day is
   * known to be complete.
   */
  readonly isUnread: boolean;
}

interface Day {
  readonly lessons: { readonly lesson: PublishedLesson; readonly content: string }[];
  readonly problems: Set<string>;
  /** All lessons of the day, masked. */
  readonly shown: unknown[];
}

function emptyDay(): Day {
  return { lessons: [], problems: new Set(), shown: [] };
}

/** Reads lessons into days (contract, "Values that Rollcall makes itself"). */
export class DayReader {
  readonly #readLessons: (lessons: readonly unknown[]) => DecodedLesson[];
  readonly #mask: ReturnType<typeof createMask>;
  readonly #takesOut: boolean;
  readonly #hashPrefix: string;
  readonly #sets: ReadonlySet<string>;
  readonly #withoutContent: Readonly<Record<string, null>>;

  /** `pseudonymiseKey` is required when anything is pseudonymised. */
  constructor(options: LessonMapping & { readonly pseudonymiseKey?: string | undefined }) {
    this.#readLessons = createLessonReader(options);
    this.#mask = createMask(options);
    const { fields, timeZone, drop, pseudonymise, ignore } = options;
    this.#takesOut = drop.length > 0 || pseudonymise.length > 0;
    // A changed mapping changes every hash, as for the other collections.
    const digest = mappingDigest({ drop, pseudonymise, ignore });
    this.#hashPrefix = `${digest.toString('hex')} ${timeZone} ${canonicalText(fields)}`;
    const lists = [fields.class, fields.teachers, fields.rooms].flatMap((name) => name.split('.'));
    this.#sets = new Set([...SET_FIELDS, ...lists]);
    // Canonical text omits null members.
    this.#withoutContent = Object.fromEntries(['dateLastModified', ...ignore].map((name) => [name, null]));
  }

  /** Throws HUB_LESSONS_UNREADABLE if no lesson has the configured start. */
  read(answer: StudentLessons): StudentDays {
    const { student, window } = answer;
    const days = this.#byDay(answer);
    const isUnread = days.has(ALL);
    const dates = isUnread ? [ALL] : daysOf(window);
    const rows = dates.map((date) => this.#rowOf(student, date, days.get(date) ?? emptyDay()));
    return { rows, isUnread };
  }

  /** The hash that a day read back from a record must have. */
  hashOf({ student, date, lessons }: DaySchedule): Buffer {
    const texts = lessons.map(({ raw }) => this.#contentOf(parseLossless(raw)));
    return this.#hash([student, formatDate(date), ...texts]);
  }

  /** Canonical text of a lesson, without `dateLastModified`, `href`s and ignored fields, and without the order of references. */
  #contentOf(lesson: unknown): string {
    const content = isJsonObject(lesson)
      ? Object.assign(Object.create(null) as object, lesson, this.#withoutContent)
      : lesson;
    return canonicalText(content, { sets: this.#sets });
  }

  #hash(texts: readonly string[]): Buffer {
    return shortDigest(`${this.#hashPrefix}\n${JSON.stringify(texts)}`);
  }

  #byDay({ window, lessons, isUtf8 }: StudentLessons): Map<string, Day> {
    const masked = lessons.map((lesson) => (isJsonObject(lesson) ? this.#mask(lesson) : lesson));
    const days = new Map<string, Day>();
    for (const [at, read] of this.#readLessons(masked).entries()) {
      const date = read.date ?? ALL;
      if (date !== ALL && !isInWindow(date, window)) continue;
      const day = days.get(date) ?? emptyDay();
      days.set(date, day);
      const raw = jsonText(masked[at]);
      day.shown.push(masked[at]);
      if (read.date === null) day.problems.add(read.problem);
      else day.lessons.push({ lesson: { ...read.values, raw }, content: this.#contentOf(masked[at]) });
      if (!isUtf8 && raw.includes('\uFFFD')) day.problems.add('the text of a lesson is not UTF-8');
    }
    return days;
  }

  #rowOf(student: string, date: string, { lessons, problems, shown }: Day): KeyedRow {
    const key = compositeKey(student, date);
    const sorted = lessons.toSorted(byTime);
    const distinct = sorted.filter(({ content }, at) => content !== sorted[at - 1]?.content);
    const size = distinct.reduce((sum, { lesson }) => sum + Buffer.byteLength(lesson.raw) * 2, 0);
    if (size > MAX_RECORD_BYTES) problems.add('the day is too large for a record');
    const common = { sourcedId: key, modifiedAtMs: null };
    if (problems.size > 0) {
      const reason = [...problems].toSorted().join('; ');
      // A lesson that is not an object has no fields to mask, so its text may contain data that the mapping takes out.
      const mayShow = shown.length > 0 && (!this.#takesOut || shown.every(isJsonObject));
      const all = mayShow ? jsonText(shown) : null;
      const text = all === null || Buffer.byteLength(all) > MAX_RECORD_BYTES ? null : all;
      // The order of lessons does not matter.
      const hash = this.#hash([reason, ...shown.map((lesson) => this.#contentOf(lesson)).toSorted()]);
      const reject = { kind: 'reject', ...common, rejectId: key, reason, text, hash } as const;
      return { key, rejectKey: key, decoded: reject };
    }
    const published = distinct.map(({ lesson }) => lesson);
    const value: DaySchedule = { student, date: parseDate(date), lessons: published };
    const hash = this.#hash([student, date, ...distinct.map(({ content }) => content)]);
    const decoded = { kind: 'row', ...common, value, hash } as const;
    const isEmpty = distinct.length === 0;
    return { key, rejectKey: key, decoded, isEmpty, needsKnown: isEmpty };
  }
}

/** By start, end, id and finally content, so that the order does not depend on the hub's. */
function byTime(one: Day['lessons'][number], other: Day['lessons'][number]): number {
  const [a, b] = [one.lesson, other.lesson];
  return (
    (a.start ?? 0) - (b.start ?? 0) ||
    (a.end ?? 0) - (b.end ?? 0) ||
    compareTexts(a.id ?? '', b.id ?? '') ||
    compareTexts(one.content, other.content)
  );
}

function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** What the configuration does to lessons, by their top-level fields. */
export interface LessonMapping extends RowMapping {
  readonly fields: LessonFields;
  /** IANA name. Times without an offset, and days, are in this zone. */
  readonly timeZone: string;
}
