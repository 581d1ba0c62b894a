import type { JsonObject } from '../../json.ts';
import { hashText, mix, uuidFrom } from '../../random.ts';
import type { Refer } from '../references.ts';
import type { Row } from '../row.ts';
import { generatedRow } from '../row.ts';
import type { Generated } from '../row-store.ts';
import { LESSONS_PER_DAY, lessonTimes, osloInstant } from '../school-calendar.ts';
import type { DistrictPlan } from './district-plan.ts';
import {
  at,
  classInLesson,
  homeroomOf,
  ID,
  schoolIdOf,
  SCHOOL_DAYS_PER_YEAR,
  semesterOf,
} from './district-plan.ts';

/** More than the school days of any school year, and more than the versions of any generated absence. */
const MOST_DAYS = 400;
const MOST_VERSIONS = 4;

/** A student and a day, by its index into `daysSoFar`. */
interface StudentDay {
  readonly student: number;
  readonly day: number;
}

export function generateAbsences(plan: DistrictPlan, refer: Refer): Generated {
  const rows: Row[] = [];
  for (let student = 0; student < plan.size.students; student += 1) {
    for (let day = 0; day < plan.daysSoFar.length; day += 1) {
      if (!isAbsent(plan, { student, day })) continue;
      const { corrections } = inventAbsence(plan, { student, day });
      for (let place = 0; place <= corrections; place += 1) {
        const index = (student * MOST_DAYS + day) * MOST_VERSIONS + place;
        rows.push(generatedRow(versionId(plan, { student, day }, place), index));
      }
    }
  }
  const studentOf = (index: number): number => Math.floor(index / (MOST_DAYS * MOST_VERSIONS));
  return {
    rows,
    builder: {
      peek: (index, field) => (field === 'student' ? at(plan.ids.students, studentOf(index)) : undefined),
      build: (index) => {
        const day = Math.floor(index / MOST_VERSIONS) % MOST_DAYS;
        return buildVersion(plan, { refer, student: studentOf(index), day, place: index % MOST_VERSIONS });
      },
    },
  };
}

function versionId(plan: DistrictPlan, { student, day }: StudentDay, place: number): string {
  return uuidFrom(plan.seed, ID.absence, student, day * MOST_VERSIONS + place);
}

/**
 * At most once a day. A few students are absent much more often than the others, as in published figures, where the
 * mean is above the median.
 */
function isAbsent(plan: DistrictPlan, { student, day }: StudentDay): boolean {
  const factor = at([0.2, 0.4, 0.6, 0.8, 3], mix(plan.seed, ID.absence, student, 1) % 5);
  const share = (plan.size.absencesPerStudentYear * factor) / SCHOOL_DAYS_PER_YEAR;
  return mix(plan.seed, ID.absence, student, 1000 + day) / 4294967296 < share;
}

/** All that is to be known of an absence is there from the first hour of its day on, lessons to come included. */
function inventAbsence(
  plan: DistrictPlan,
  { student, day }: StudentDay,
): {
  /** 0 … 5, or -1 for the whole day. */
  lesson: number;
  /** Versions after the first. */
  corrections: number;
  deleted: boolean;
} {
  const hash = mix(plan.seed, ID.absence, student, 2000 + day);
  return {
    lesson: hash % 10 < 3 ? -1 : (hash >>> 4) % LESSONS_PER_DAY,
    corrections: hash % 100 < 88 ? 0 : hash % 100 < 98 ? 1 : 2,
    deleted: (hash >>> 12) % 25 === 0,
  };
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

function buildVersion(plan: DistrictPlan, options: StudentDay & { refer: Refer; place: number }): JsonObject {
  const { refer, student, day, place } = options;
  const { lesson, corrections, deleted } = inventAbsence(plan, { student, day });
  const date = at(plan.daysSoFar, day);
  const homeroom = homeroomOf(plan, student);
  const version = (other: number): string => versionId(plan, { student, day }, other);
  return absenceContent({
    refer,
    ...absenceTimes(date, { lesson, place }),
    student: at(plan.ids.students, student),
    school: schoolIdOf(plan, homeroom),
    term: at(plan.ids.sessions, semesterOf(plan, date)),
    classId: lesson < 0 ? undefined : at(plan.ids.classes, classInLesson(plan, homeroom, { date, lesson })),
    replaces: place === 0 ? undefined : version(place - 1),
    replacedBy: place === corrections ? undefined : version(place + 1),
    deletedMs: deleted && place === corrections ? osloInstant(date, '00:00') : undefined,
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

/** What a student missed in a semester. */
interface AbsenceSum {
  minutes: number;
  absences: number;
  fullDays: number;
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
export function generateSummaries(plan: DistrictPlan, refer: Refer): Generated {
  const rows: Row[] = [];
  for (const [index, student] of plan.ids.students.entries()) {
    for (let semester = 1; semester <= semesterOf(plan, plan.startDate); semester += 1) {
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
          school: schoolIdOf(plan, homeroomOf(plan, index >> 1)),
          term: at(plan.ids.sessions, semester),
          sum: sumOf(plan, { student: index >> 1, semester }),
        });
      },
    },
  };
}

function sumOf(plan: DistrictPlan, options: { student: number; semester: number }): AbsenceSum {
  const { student, semester } = options;
  const sum = { minutes: 0, absences: 0, fullDays: 0 };
  for (const [day, date] of plan.daysSoFar.entries()) {
    if (semesterOf(plan, date) !== semester || !isAbsent(plan, { student, day })) continue;
    const { lesson, corrections, deleted } = inventAbsence(plan, { student, day });
    if (deleted) continue;
    const { fromMs, toMs } = absenceTimes(date, { lesson, place: corrections });
    sum.minutes += (toMs - fromMs) / 60_000;
    sum.absences += 1;
    sum.fullDays += lesson < 0 ? 1 : 0;
  }
  return sum;
}
