import { mix, uuidFrom } from '../../random.ts';
import { LESSONS_PER_DAY, schoolDaysUntil, schoolYearOf, weekday } from '../school-calendar.ts';

/** How large each kind is, in relation to the students; the defaults are those of a Norwegian county. */
export interface DistrictSize {
  students: number;
  studentsPerSchool: number;
  resultsPerStudentYear: number;
  absencesPerStudentYear: number;
  assessmentsPerStudentYear: number;
}

export const DEFAULT_SIZE: DistrictSize = {
  students: 2000,
  studentsPerSchool: 233,
  resultsPerStudentYear: 55,
  absencesPerStudentYear: 83,
  assessmentsPerStudentYear: 3,
};

const STUDENTS_PER_HOMEROOM = 25;
const STUDENTS_PER_TEACHER = 11;
/** Subject groups of a student, besides the homeroom class. */
const SUBJECTS_PER_STUDENT = 12;

/** The number of days over which the figures of a year are spread. */
export const SCHOOL_DAYS_PER_YEAR = 190;

/** Kinds of ids; part of what a seed means, so never renumber. */
export const ID = {
  org: 1,
  student: 2,
  teacher: 3,
  guardian: 4,
  staff: 5,
  class: 6,
  course: 7,
  session: 8,
  lineItem: 9,
  category: 10,
  result: 11,
  assessment: 12,
  assessmentResult: 13,
  absence: 14,
  summary: 15,
  afterschool: 16,
  lesson: 17,
} as const;

export const SUBJECTS = [
  ['NOR', 'Norsk'],
  ['MAT', 'Matematikk'],
  ['ENG', 'Engelsk'],
  ['NAT', 'Naturfag'],
  ['SAF', 'Samfunnsfag'],
  ['KRO', 'Kroppsøving'],
  ['RLE', 'KRLE'],
  ['KHV', 'Kunst og håndverk'],
  ['MUS', 'Musikk'],
  ['MHE', 'Mat og helse'],
  ['TYS', 'Tysk'],
  ['PRO', 'Programmering'],
  ['UTV', 'Utdanningsvalg'],
  ['ARB', 'Arbeidslivsfag'],
] as const;

/**
 * Everything about the district that follows from its size, seed and starting date by arithmetic. What happened on a
 * day follows from the seed and that day alone: the date decides only how many days there are. So a hub that is
 * started again, at any hour of the same or of a later day of the school year, serves the same rows.
 */
export interface DistrictPlan {
  readonly seed: number;
  readonly size: DistrictSize;
  readonly startDate: string;
  readonly schoolYear: number;
  /** School days up to the starting date; see {@link schoolDaysUntil}. */
  readonly daysSoFar: readonly string[];
  readonly homerooms: number;
  readonly schools: number;
  readonly teachersPerSchool: number;
  readonly classesPerHomeroom: number;
  /** Line items of a homeroom so far, spread over its subject groups. */
  readonly lineItemsPerHomeroom: number;
  readonly assessments: number;
  readonly ids: PlanIds;
}

export interface PlanIds {
  readonly orgs: readonly string[];
  readonly students: readonly string[];
  readonly teachers: readonly string[];
  readonly classes: readonly string[];
  readonly sessions: readonly string[];
}

export function planDistrict(options: { seed: number; size: DistrictSize; startDate: string }): DistrictPlan {
  const { seed, size, startDate } = options;
  const daysSoFar = schoolDaysUntil(startDate);
  const homerooms = Math.max(1, Math.ceil(size.students / STUDENTS_PER_HOMEROOM));
  const homeroomsPerSchool = Math.max(1, Math.round(size.studentsPerSchool / STUDENTS_PER_HOMEROOM));
  const schools = Math.ceil(homerooms / homeroomsPerSchool);
  const teachersPerSchool = Math.max(2, Math.ceil(size.students / schools / STUDENTS_PER_TEACHER));
  const soFar = (perYear: number): number => Math.ceil((daysSoFar.length * perYear) / SCHOOL_DAYS_PER_YEAR);
  const ids = (kind: number, count: number): string[] =>
    Array.from({ length: count }, (_, index) => uuidFrom(seed, kind, index));
  return {
    seed,
    size,
    startDate,
    daysSoFar,
    homerooms,
    schools,
    teachersPerSchool,
    schoolYear: schoolYearOf(startDate),
    classesPerHomeroom: SUBJECTS_PER_STUDENT + 1,
    lineItemsPerHomeroom: soFar(size.resultsPerStudentYear),
    assessments: soFar(size.assessmentsPerStudentYear),
    ids: {
      orgs: ids(ID.org, 1 + schools),
      students: ids(ID.student, size.students),
      teachers: ids(ID.teacher, teachersPerSchool * schools),
      classes: ids(ID.class, homerooms * (SUBJECTS_PER_STUDENT + 1)),
      sessions: ids(ID.session, 7),
    },
  };
}

export function homeroomOf(plan: DistrictPlan, student: number): number {
  return Math.min(plan.homerooms - 1, Math.floor(student / STUDENTS_PER_HOMEROOM));
}

export function studentsOfHomeroom(plan: DistrictPlan, homeroom: number): { first: number; end: number } {
  const first = homeroom * STUDENTS_PER_HOMEROOM;
  return { first, end: Math.min(plan.size.students, first + STUDENTS_PER_HOMEROOM) };
}

/** 0 … schools - 1; the org of a school is at this index + 1, the district's at 0. */
export function schoolOfHomeroom(plan: DistrictPlan, homeroom: number): number {
  return Math.floor((homeroom * plan.schools) / plan.homerooms);
}

/** Id of the org of a homeroom's school. */
export function schoolIdOf(plan: DistrictPlan, homeroom: number): string {
  return at(plan.ids.orgs, schoolOfHomeroom(plan, homeroom) + 1);
}

/** 1 … 13: every other school is a primary school, then lower and upper secondary take turns. */
export function gradeOfHomeroom(plan: DistrictPlan, homeroom: number): number {
  const school = schoolOfHomeroom(plan, homeroom);
  const kind = schoolKind(school);
  if (kind === 'primary') return 1 + (homeroom % 7);
  return kind === 'lower' ? 8 + (homeroom % 3) : 11 + (homeroom % 3);
}

export function schoolKind(school: number): 'primary' | 'lower' | 'upper' {
  if (school % 2 === 0) return 'primary';
  return school % 4 === 1 ? 'lower' : 'upper';
}

/** Index of the subject group (1 …) that a homeroom has in a lesson of the week. In 30 lessons, each group has its turn. */
export function groupInLesson(
  plan: DistrictPlan,
  homeroom: number,
  at: { weekday: number; lesson: number },
): number {
  const groups = plan.classesPerHomeroom - 1;
  const slot = at.weekday * LESSONS_PER_DAY + at.lesson;
  return 1 + ((slot + mix(plan.seed, ID.lesson, homeroom)) % groups);
}

export function classIndex(plan: DistrictPlan, homeroom: number, group: number): number {
  return homeroom * plan.classesPerHomeroom + group;
}

/** Index of the class that a homeroom's students attend in a lesson of a date. */
export function classInLesson(
  plan: DistrictPlan,
  homeroom: number,
  at: { date: string; lesson: number },
): number {
  const group = groupInLesson(plan, homeroom, { weekday: weekday(at.date), lesson: at.lesson });
  return classIndex(plan, homeroom, group);
}

/** Index of the teacher of a class. */
export function teacherOfClass(plan: DistrictPlan, index: number): number {
  const school = schoolOfHomeroom(plan, Math.floor(index / plan.classesPerHomeroom));
  return school * plan.teachersPerSchool + (mix(plan.seed, ID.teacher, index) % plan.teachersPerSchool);
}

/**
 * The day on which something happens for the n-th time (from 0) if it happens `perYear` times in a year. Throws if that
 * day has not come yet.
 */
export function dayOfNth(plan: DistrictPlan, number: number, perYear: number): string {
  return at(plan.daysSoFar, Math.floor((number * SCHOOL_DAYS_PER_YEAR) / perYear));
}

/** Index of the semester's session: 2 in spring, else 1, which has to do for the days before the school year, too. */
export function semesterOf(plan: DistrictPlan, date: string): 1 | 2 {
  return date < `${plan.schoolYear + 1}-01-01` ? 1 : 2;
}

export function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`no item ${index} of ${items.length}`);
  return item;
}
