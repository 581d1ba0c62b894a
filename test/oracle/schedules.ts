import { isDeepStrictEqual } from 'node:util';
import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { textIn } from '../integration/support/rows.ts';
import type { Row } from './history.ts';
import { compactedView, doubledRecords, type TopicRecord } from './rows.ts';

/** Days by the clock in Oslo, both included. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The `YYYY-MM-DD` that many days after another. */
export function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** The key of a student's day, as in the contract. */
export function dayKey(student: string, date: string): string {
  return `${student.replaceAll('%', '%25').replaceAll('|', '%7C')}|${date}`;
}

/** The lessons of the hub by key, for days with any. */
function hubDays(hub: ReferenceHub, students: Iterable<string>, days: Days): Map<string, Row[]> {
  const byKey = new Map<string, Row[]>();
  for (const student of students) {
    const around = { from: dayAfter(days.from, -2), to: dayAfter(days.to, 2) };
    for (const lesson of hub.district.lessons({ student, ...around })) {
      const date = osloDate(Date.parse(textIn(lesson, 'start')));
      if (date < days.from || date > days.to) continue;
      const key = dayKey(student, date);
      byKey.set(key, [...(byKey.get(key) ?? []), lesson]);
    }
  }
  return byKey;
}

/**
 * The first differences between the topic and the hub: the topic must have every day with lessons of every wanted student,
 * and otherwise only days that became empty, and no record twice. Empty when they are equal.
 */
export function scheduleDifferences(options: {
  hub: ReferenceHub;
  students: Iterable<string>;
  days: Days;
  records: readonly TopicRecord[];
  /** Whether days that became empty may be there. */
  mayBeEmpty?: boolean;
}): string[] {
  const { hub, days, records, mayBeEmpty = false } = options;
  const expected = hubDays(hub, options.students, days);
  const view = compactedView(records);
  const found: string[] = [];
  for (const [key, lessons] of expected) {
    const value = view.get(key)?.value ?? null;
    if (value === null) found.push(`${key}: missing from the topic`);
    else found.push(...dayDifferences(key, lessons, value));
  }
  for (const [key, { value }] of view) {
    const isEmpty = (value?.['lessons'] as unknown[] | undefined)?.length === 0;
    if (!expected.has(key) && !(mayBeEmpty && isEmpty)) found.push(`${key}: not at the hub`);
  }
  return [...found, ...doubledRecords(records)].slice(0, 10);
}

function dayDifferences(key: string, lessons: readonly Row[], value: Row): string[] {
  if (dayKey(String(value['student']), isoDate(value['date'])) !== key) return [`${key}: is of another day`];
  const published = value['lessons'] as readonly Row[];
  if (published.length !== lessons.length)
    return [`${key}: ${published.length} lessons, the hub has ${lessons.length}`];
  return lessons.toSorted(byTimeAndId).flatMap((lesson, at) => {
    const there = published[at] ?? {};
    const raw: unknown = JSON.parse(String(there['raw']));
    const isEqual =
      there['id'] === lesson['id'] &&
      there['title'] === lesson['title'] &&
      there['start'] === Date.parse(String(lesson['start'])) &&
      there['end'] === Date.parse(String(lesson['end'])) &&
      there['cancelled'] === lesson['cancelled'] &&
      sameText(there['classes'], [lesson['class']].flat()) &&
      sameText(there['teachers'], lesson['teachers']) &&
      sameText(there['rooms'], lesson['rooms']) &&
      sameText(raw, lesson);
    return isEqual ? [] : [`${key}: lesson ${at} differs`];
  });
}

/** Lessons as in the values of the contract. */
function byTimeAndId(one: Row, other: Row): number {
  const [a, b] = [one, other].map((row) =>
    ['start', 'end', 'id'].map((name) => textIn(row, name)).join(' '),
  ) as [string, string];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Students with a current absence that overlaps the days (spec 3 rule 1, 2). */
export function absentStudents(hub: ReferenceHub, days: Days): Set<string> {
  const absent = new Set<string>();
  for (const row of hub.district.snapshot('absence-versions')) {
    const isCurrent = !row['replacedBy'] && !row['deletedTime'];
    const [from = '', to = ''] = ['fromTime', 'toTime'].map((name) =>
      osloDate(Date.parse(textIn(row, name))),
    );
    const student = (row['student'] as Row | undefined)?.['sourcedId'];
    if (isCurrent && typeof student === 'string' && from <= days.to && to >= days.from) {
      absent.add(student);
    }
  }
  return absent;
}

/** A formatter is expensive to make, and each lesson of each student needs it. */
const OSLO = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Oslo', dateStyle: 'short' });

export function osloDate(ms: number): string {
  return OSLO.format(ms);
}

/** The text of an Avro `date`, which counts days since 1970. */
function isoDate(value: unknown): string {
  return new Date(Number(value) * 86_400_000).toISOString().slice(0, 10);
}

function sameText(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(plain(one), plain(other));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
