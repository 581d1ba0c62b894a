import {
  lessonsOf,
  scheduleKeys,
  type Absence,
  type Days,
  type Lesson,
} from '../../../examples/absence-lessons/absence-lessons.ts';
import { compactedView, type TopicRecord } from '../support/read-topics.ts';

export type Values = ReadonlyMap<string, TopicRecord>;

interface ScheduledLesson extends Lesson {
  readonly title: string | null;
  readonly cancelled: boolean | null;
}

/** What `absence-lessons` must hold, by absence id, according to examples/absence-lessons and the topics. */
export function expectedTable(topics: {
  absences: Values;
  schedules: Values;
  classes: Values;
  progress: Values;
}): Map<string, object> {
  const timeZone = String(topics.progress.get('schedules')?.value?.['timeZone']);
  const held = heldDays(topics.schedules);
  const table = new Map<string, object>();
  for (const [absenceId, { value }] of topics.absences) {
    if (value === null) continue;
    const absence = value as unknown as Absence;
    const days = scheduleKeys(absence, timeZone, held).flatMap((key) => {
      const day = topics.schedules.get(key)?.value;
      return day === undefined || day === null ? [] : [day as unknown as { lessons: ScheduledLesson[] }];
    });
    table.set(absenceId, {
      absenceId,
      version: value['sourcedId'],
      student: absence.student?.sourcedId ?? null,
      fromTime: absence.fromTime,
      toTime: absence.toTime,
      classAffected: absence.classesAffected?.sourcedId ?? null,
      lessons: lessonsOf(absence, days).map((lesson) => joinedLesson(lesson, topics.classes)),
    });
  }
  return table;
}

/** The oldest and the newest day; none of no days. */
function heldDays(schedules: Values): Days {
  const days = [...schedules.keys()].map((key) => key.slice(key.indexOf('|') + 1)).toSorted();
  return { from: days.at(0) ?? '9999-12-31', to: days.at(-1) ?? '1000-01-01' };
}

function joinedLesson({ id, title, start, end, cancelled, classes }: ScheduledLesson, known: Values): object {
  const ids = [...new Set((classes ?? []).map(({ sourcedId }) => sourcedId))].toSorted();
  const named = ids.map((sourcedId) => {
    const value = known.get(sourcedId)?.value;
    return { sourcedId, title: value?.['title'] ?? null, classCode: value?.['classCode'] ?? null };
  });
  return { id, title, start, end, cancelled, classes: named };
}

/** What Flink's table must hold: no codes and titles but the title of the absence's own class, and lessons in no order. */
export function flinkTable(expected: ReadonlyMap<string, object>, classes: Values): Map<string, object> {
  const table = new Map<string, object>();
  for (const [absenceId, row] of expected) {
    const { version, student, fromTime, toTime, classAffected, lessons } = row as ExpectedRow;
    const title = classes.get(classAffected ?? '')?.value?.['title'] ?? null;
    table.set(absenceId, {
      version,
      student,
      from_time: fromTime,
      to_time: toTime,
      class_id: classAffected,
      class_title: title,
      lessons: sortedTexts(lessons),
    });
  }
  return table;
}

/** What Flink's topic holds, in the same form. */
export function tableOfFlink(records: readonly TopicRecord[]): Map<string, object> {
  const rows = [...tableOf(records)] as [string, { lessons: readonly ListedLesson[] | null }][];
  return new Map(rows.map(([key, row]) => [key, { ...row, lessons: sortedTexts(row.lessons ?? []) }]));
}

interface ListedLesson {
  readonly id: string | null;
  readonly title: string | null;
  readonly start: number;
  readonly end: number;
}

interface ExpectedRow {
  readonly version: unknown;
  readonly student: unknown;
  readonly fromTime: unknown;
  readonly toTime: unknown;
  readonly classAffected: string | null;
  readonly lessons: readonly ListedLesson[];
}

function sortedTexts(lessons: readonly ListedLesson[]): string[] {
  return lessons.map(({ id, title, start, end }) => `${start}-${end} ${id} ${title}`).toSorted();
}

/** What `absence-lessons` holds, by absence id. */
export function tableOf(records: readonly TopicRecord[]): Map<string, object> {
  const table = new Map<string, object>();
  for (const [key, { value }] of compactedView(records)) if (value !== null) table.set(key, { ...value });
  return table;
}

/** Records that say the same of their absence as the record before. */
export function repetitions(records: readonly TopicRecord[]): TopicRecord[] {
  const last = new Map<string, string>();
  return records.filter(({ key, value }) => {
    const text = JSON.stringify(value);
    const isAgain = last.get(key) === text;
    last.set(key, text);
    return isAgain;
  });
}

/**
 * By absence id, the versions that the records name one after another, as one text; null stands for none. What is
 * joined again, left out or joined in another order shows here, although the table that remains may be right.
 *
 * @param field the version's id in a value
 */
export function versionSteps(records: readonly TopicRecord[], field: string): Map<string, string> {
  const steps = new Map<string, (string | null)[]>();
  for (const { key, value } of records) {
    const version = value === null ? null : String(value[field]);
    const before = steps.get(key);
    if (before === undefined) steps.set(key, [version]);
    else if (before.at(-1) !== version) before.push(version);
  }
  const shown = [...steps].filter(([, [first, ...rest]]) => first !== null || rest.length > 0);
  return new Map(shown.map(([key, versions]) => [key, versions.map(String).join(', ')]));
}
