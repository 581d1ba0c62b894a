import {
  lessonsOf,
  scheduleKeys,
  type Absence,
  type Lesson,
} from '../../../../examples/absence-lessons/absence-lessons.ts';
import { compactedView, type TopicRecord } from '../../support/read-topics.ts';

type Values = ReadonlyMap<string, TopicRecord>;

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
  const table = new Map<string, object>();
  for (const [absenceId, { value }] of topics.absences) {
    if (value === null) continue;
    const absence = value as unknown as Absence;
    const days = scheduleKeys(absence, timeZone).flatMap((key) => {
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

function joinedLesson({ id, title, start, end, cancelled, classes }: ScheduledLesson, known: Values): object {
  const ids = [...new Set((classes ?? []).map(({ sourcedId }) => sourcedId))].toSorted();
  const named = ids.map((sourcedId) => {
    const value = known.get(sourcedId)?.value;
    return { sourcedId, title: value?.['title'] ?? null, classCode: value?.['classCode'] ?? null };
  });
  return { id, title, start, end, cancelled, classes: named };
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
