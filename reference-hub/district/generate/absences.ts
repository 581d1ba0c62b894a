import type { JsonObject } from '../../json.ts';
import { hashText, mix, uuidFrom } from '../../random.ts';
import type { Refer } from '../references.ts';
import type { Row } from '../row.ts';
import { generatedRow } from '../row.ts';
import type { RowBuilder } from '../row-store.ts';
import { LESSONS_PER_DAY, lessonTimes } from '../school-calendar.ts';
import type { DistrictPlan } from './district-plan.ts';
import {
  at,
  classInLesson,
  homeroomOf,
  ID,
  schoolOfHomeroom,
  SCHOOL_DAYS_PER_YEAR,
  semesterOf,
} from './district-plan.ts';

/** The generated absences: one entry per version, the versions of a chain side by side. */
interface Versions {
  student: number[];
  /** Index into `daysSoFar`. */
  day: number[];
  /** 0 … 5, or -1 for the whole day. */
  lesson: number[];
  /** Place in the chain, from 0. */
  place: number[];
  last: boolean[];
  deleted: boolean[];
}

/** What a student missed in a semester, for the summaries. */
export interface AbsenceSum {
  minutes: number;
  absences: number;
  fullDays: number;
}

export interface GeneratedAbsences {
  readonly builder: RowBuilder;
  readonly rows: Row[];
  /** By student index and semester (1, 2). */
  readonly sums: Map<string, AbsenceSum>;
}

export function generateAbsences(plan: DistrictPlan, refer: Refer): GeneratedAbsences {
  const versions: Versions = { student: [], day: [], lesson: [], place: [], last: [], deleted: [] };
  const sums = new Map<string, AbsenceSum>();
  for (let student = 0; student < plan.size.students; student += 1)
    inventAbsences(plan, { student, versions, sums });
  const rows = versions.student.map((_, index) =>
    generatedRow(uuidFrom(plan.seed, ID.absence, index), index),
  );
  const studentId = (index: number): string => at(plan.ids.students, at(versions.student, index));
  return {
    rows,
    sums,
    builder: {
      peek: (index, field) => (field === 'student' ? studentId(index) : undefined),
      build: (index) => buildVersion(plan, { refer, versions, index }),
    },
  };
}

/** At most one absence on a day; how many differs between students as the published medians and means do. */
function inventAbsences(
  plan: DistrictPlan,
  options: { student: number; versions: Versions; sums: Map<string, AbsenceSum> },
): void {
  const { student, versions, sums } = options;
  const days = plan.daysSoFar.length;
  if (days === 0) return;
  const factor = at([0.2, 0.4, 0.6, 0.8, 3], mix(plan.seed, ID.absence, student, 1) % 5);
  const wanted = Math.round((plan.size.absencesPerStudentYear * factor * days) / SCHOOL_DAYS_PER_YEAR);
  const firstDay = mix(plan.seed, ID.absence, student, 2) % days;
  for (let number = 0; number < Math.min(wanted, days); number += 1) {
    const hash = mix(plan.seed, ID.absence, student, 100 + number);
    const day = (firstDay + Math.floor((number * days) / wanted)) % days;
    const lesson = hash % 10 < 3 ? -1 : (hash >>> 4) % LESSONS_PER_DAY;
    if (absenceTimes(at(plan.daysSoFar, day), { lesson, place: 0 }).toMs > plan.startMs) continue;
    const replaced = hash % 100 < 88 ? 0 : hash % 100 < 98 ? 1 : 2;
    const deleted = (hash >>> 12) % 25 === 0;
    for (let place = 0; place <= replaced; place += 1) {
      versions.student.push(student);
      versions.day.push(day);
      versions.lesson.push(lesson);
      versions.place.push(place);
      versions.last.push(place === replaced);
      versions.deleted.push(deleted && place === replaced);
    }
    if (deleted) continue;
    const date = at(plan.daysSoFar, day);
    const { fromMs, toMs } = absenceTimes(date, { lesson, place: replaced });
    const key = `${student}:${semesterOf(date)}`;
    const sum = sums.get(key) ?? { minutes: 0, absences: 0, fullDays: 0 };
    sums.set(key, sum);
    sum.minutes += (toMs - fromMs) / 60_000;
    sum.absences += 1;
    sum.fullDays += lesson < 0 ? 1 : 0;
  }
}

/** Each correction takes ten minutes off the end. */
function absenceTimes(
  date: string,
  options: { lesson: number; place: number },
): { fromMs: number; toMs: number } {
  const { lesson, place } = options;
  const fromMs = lessonTimes(date, Math.max(0, lesson)).startMs;
  const toMs = lessonTimes(date, lesson < 0 ? LESSONS_PER_DAY - 1 : lesson).endMs;
  return { fromMs, toMs: toMs - place * 600_000 };
}

function buildVersion(
  plan: DistrictPlan,
  options: { refer: Refer; versions: Versions; index: number },
): JsonObject {
  const { refer, versions, index } = options;
  const student = at(versions.student, index);
  const date = at(plan.daysSoFar, at(versions.day, index));
  const lesson = at(versions.lesson, index);
  const place = at(versions.place, index);
  const homeroom = homeroomOf(plan, student);
  const version = (other: number): string => uuidFrom(plan.seed, ID.absence, other);
  const { fromMs, toMs } = absenceTimes(date, { lesson, place });
  return absenceContent({
    refer,
    fromMs,
    toMs,
    student: at(plan.ids.students, student),
    school: at(plan.ids.orgs, schoolOfHomeroom(plan, homeroom) + 1),
    term: at(plan.ids.sessions, semesterOf(date)),
    classId: lesson < 0 ? undefined : at(plan.ids.classes, classInLesson(plan, homeroom, { date, lesson })),
    replaces: place === 0 ? undefined : version(index - 1),
    replacedBy: at(versions.last, index) ? undefined : version(index + 1),
    deletedMs: at(versions.deleted, index) ? toMs + 3_600_000 : undefined,
  });
}

/** An absence detail record (spec 2.2). */
export function absenceContent(options: {
  refer: Refer;
  fromMs: number;
  toMs: number;
  student: string;
  school: string;
  term: string;
  classId?: string | undefined;
  replaces?: string | undefined;
  replacedBy?: string | undefined;
  deletedMs?: number | undefined;
}): JsonObject {
  const { refer, fromMs, toMs } = options;
  return {
    status: 'active',
    fromTime: new Date(fromMs).toISOString(),
    toTime: new Date(toMs).toISOString(),
    absenceDurationUnit: 'Minutes',
    absenceDurationValue: Math.round((toMs - fromMs) / 60_000),
    student: refer('user', options.student),
    school: [refer('org', options.school)],
    term: refer('academicSession', options.term),
    classesAffected: options.classId === undefined ? undefined : refer('class', options.classId),
    replaces: options.replaces === undefined ? null : refer('absence', options.replaces),
    replacedBy: options.replacedBy === undefined ? null : refer('absence', options.replacedBy),
    deletedTime: options.deletedMs === undefined ? undefined : new Date(options.deletedMs).toISOString(),
  };
}

export function summaryId(plan: DistrictPlan, student: string, semester: number): string {
  const [high, low] = hashText(student);
  return uuidFrom(plan.seed, mix(ID.summary, semester), high, low);
}

export function summaryContent(options: {
  refer: Refer;
  student: string;
  school: string;
  term: string;
  sum: AbsenceSum;
}): JsonObject {
  const { refer, sum } = options;
  return {
    status: 'active',
    student: refer('user', options.student),
    school: [refer('org', options.school)],
    term: refer('academicSession', options.term),
    absenceDurationUnit: 'Minutes',
    absenceDurationValue: sum.minutes,
    numberOfAbsences: sum.absences,
    numberOfFullDays: sum.fullDays,
  };
}

/** One summary per student and semester so far. */
export function generateSummaries(
  plan: DistrictPlan,
  refer: Refer,
  sums: Map<string, AbsenceSum>,
): { builder: RowBuilder; rows: Row[] } {
  const semesters = semesterOf(plan.startDate);
  const rows: Row[] = [];
  for (const [index, student] of plan.ids.students.entries()) {
    for (let semester = 1; semester <= semesters; semester += 1) {
      rows.push(generatedRow(summaryId(plan, student, semester), index * 2 + semester - 1));
    }
  }
  const studentId = (index: number): string => at(plan.ids.students, index >> 1);
  return {
    rows,
    builder: {
      peek: (index, field) => (field === 'student' ? studentId(index) : undefined),
      build: (index) => {
        const semester = (index & 1) + 1;
        return summaryContent({
          refer,
          student: studentId(index),
          school: at(plan.ids.orgs, schoolOfHomeroom(plan, homeroomOf(plan, index >> 1)) + 1),
          term: at(plan.ids.sessions, semester),
          sum: sums.get(`${index >> 1}:${semester}`) ?? { minutes: 0, absences: 0, fullDays: 0 },
        });
      },
    },
  };
}
