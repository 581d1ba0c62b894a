import type { JsonObject } from '../../json.ts';
import { hashText, mix, uuidFrom } from '../../random.ts';
import type { Refer } from '../references.ts';
import type { Row } from '../row.ts';
import { generatedRow } from '../row.ts';
import type { Generated } from '../row-store.ts';
import type { DistrictPlan } from './district-plan.ts';
import {
  at,
  classIndex,
  dayOfNth,
  homeroomOf,
  ID,
  schoolIdOf,
  semesterOf,
  studentsOfHomeroom,
} from './district-plan.ts';
import type { NamedContent } from './organisation.ts';
import { addDays } from '../school-calendar.ts';

const CATEGORIES = [
  ['Underveisvurdering', 0.4],
  ['Prøve', 0.4],
  ['Muntlig', 0.2],
] as const;

function categoryId(plan: DistrictPlan, index: number): string {
  return uuidFrom(plan.seed, ID.category, index % CATEGORIES.length);
}

export function generateCategories(plan: DistrictPlan): NamedContent[] {
  return CATEGORIES.map(
    ([title, weight], index) => [categoryId(plan, index), { status: 'active', title, weight }] as const,
  );
}

/** Day on which the n-th of a homeroom's line items was handed out. */
function dayOfLineItem(plan: DistrictPlan, item: number): string {
  return dayOfNth(plan, item, plan.size.resultsPerStudentYear);
}

function groupOfLineItem(plan: DistrictPlan, item: number): number {
  return 1 + (item % (plan.classesPerHomeroom - 1));
}

export function generateLineItems(plan: DistrictPlan, refer: Refer): Generated {
  const count = plan.homerooms * plan.lineItemsPerHomeroom;
  return {
    rows: Array.from({ length: count }, (_, index) => generatedRow(lineItemId(plan, index), index)),
    builder: {
      peek: (index, field) => (field === 'class' ? classOfLineItem(plan, index) : undefined),
      build: (index) => {
        const homeroom = Math.floor(index / plan.lineItemsPerHomeroom);
        const item = index % plan.lineItemsPerHomeroom;
        return lineItemContent({
          plan,
          refer,
          number: item,
          classId: classOfLineItem(plan, index),
          school: schoolIdOf(plan, homeroom),
          date: dayOfLineItem(plan, item),
        });
      },
    },
  };
}

function lineItemId(plan: DistrictPlan, index: number): string {
  const homeroom = Math.floor(index / plan.lineItemsPerHomeroom);
  return uuidFrom(plan.seed, ID.lineItem, homeroom, index % plan.lineItemsPerHomeroom);
}

function classOfLineItem(plan: DistrictPlan, index: number): string {
  const homeroom = Math.floor(index / plan.lineItemsPerHomeroom);
  return at(
    plan.ids.classes,
    classIndex(plan, homeroom, groupOfLineItem(plan, index % plan.lineItemsPerHomeroom)),
  );
}

export function lineItemContent(options: {
  plan: DistrictPlan;
  refer: Refer;
  number: number;
  classId: string;
  school: string;
  date: string;
}): JsonObject {
  const { plan, refer, number, date } = options;
  const semester = semesterOf(plan, date);
  return {
    status: 'active',
    title: `Oppgave ${number + 1}`,
    description: 'En oppdiktet oppgave',
    assignDate: `${date}T07:00:00.000Z`,
    dueDate: `${addDays(date, 7)}T22:00:00.000Z`,
    class: refer('class', options.classId),
    school: refer('org', options.school),
    category: refer('category', categoryId(plan, number)),
    academicSession: refer('academicSession', at(plan.ids.sessions, semester)),
    resultValueMin: 1,
    resultValueMax: 6,
  };
}

/** The id of a student's result for a line item follows from both, so that nobody has two. */
export function resultId(plan: DistrictPlan, lineItem: string, student: string): string {
  const [itemHigh, itemLow] = hashText(lineItem);
  const [studentHigh, studentLow] = hashText(student);
  return uuidFrom(plan.seed, mix(ID.result, itemLow, studentLow), itemHigh, studentHigh);
}

/** One result per student and line item of the homeroom. */
export function generateResults(plan: DistrictPlan, refer: Refer, lineItems: readonly Row[]): Generated {
  const perStudent = plan.lineItemsPerHomeroom;
  const rows: Row[] = [];
  for (let homeroom = 0; homeroom < plan.homerooms; homeroom += 1) {
    const { first, end } = studentsOfHomeroom(plan, homeroom);
    for (let student = first; student < end; student += 1) {
      for (let item = 0; item < perStudent; item += 1) {
        const lineItem = at(lineItems, homeroom * perStudent + item).id;
        rows.push(
          generatedRow(resultId(plan, lineItem, at(plan.ids.students, student)), student * perStudent + item),
        );
      }
    }
  }
  const studentId = (index: number): string => at(plan.ids.students, Math.floor(index / perStudent));
  return {
    rows,
    builder: {
      peek: (index, field) => (field === 'student' ? studentId(index) : undefined),
      build: (index) => {
        const item = index % perStudent;
        const student = Math.floor(index / perStudent);
        const lineItem = homeroomOf(plan, student) * perStudent + item;
        return resultContent({
          refer,
          lineItem: lineItemId(plan, lineItem),
          student: studentId(index),
          classId: classOfLineItem(plan, lineItem),
          date: dayOfLineItem(plan, item),
          hash: mix(plan.seed, ID.result, student, item),
        });
      },
    },
  };
}

export function resultContent(options: {
  refer: Refer;
  lineItem: string;
  student: string;
  classId: string;
  date: string;
  /** Decides the mark. */
  hash: number;
}): JsonObject {
  const { refer, hash } = options;
  const missing = hash % 29 === 0;
  return {
    status: 'active',
    lineItem: refer('lineItem', options.lineItem),
    student: refer('user', options.student),
    class: refer('class', options.classId),
    scoreStatus: missing ? 'not submitted' : 'fully graded',
    score: missing ? undefined : 1 + ((hash >>> 5) % 6),
    scoreDate: options.date,
    comment: hash % 13 === 0 ? 'Oppdiktet kommentar' : undefined,
    late: hash % 17 === 0 ? 'true' : 'false',
    missing: missing ? 'true' : 'false',
  };
}

export function assessmentId(plan: DistrictPlan, index: number): string {
  return uuidFrom(plan.seed, ID.assessment, index);
}

export function generateAssessments(plan: DistrictPlan): NamedContent[] {
  return Array.from(
    { length: plan.assessments },
    (_, index) =>
      [
        assessmentId(plan, index),
        {
          status: 'active',
          title: `Kartleggingsprøve ${index + 1}`,
          description: 'Oppdiktet prøve',
          resultValueMin: 0,
          resultValueMax: 60,
        },
      ] as const,
  );
}

export function generateAssessmentResults(plan: DistrictPlan, refer: Refer): Generated {
  const rows: Row[] = [];
  for (let student = 0; student < plan.size.students; student += 1) {
    for (let number = 0; number < plan.assessments; number += 1) {
      const id = uuidFrom(plan.seed, ID.assessmentResult, student, number);
      rows.push(generatedRow(id, student * plan.assessments + number));
    }
  }
  const studentId = (index: number): string => at(plan.ids.students, Math.floor(index / plan.assessments));
  return {
    rows,
    builder: {
      peek: (index, field) => (field === 'student' ? studentId(index) : undefined),
      build: (index) => {
        const number = index % plan.assessments;
        const hash = mix(plan.seed, ID.assessmentResult, Math.floor(index / plan.assessments), number);
        return {
          status: 'active',
          assessmentLineItem: refer('assessmentLineItem', assessmentId(plan, number)),
          student: refer('user', studentId(index)),
          score: hash % 61,
          scoreDate: dayOfNth(plan, number, plan.size.assessmentsPerStudentYear),
          scorePercentile: Math.round(((hash % 61) / 60) * 1000) / 10,
          scoreStatus: 'fully graded',
        };
      },
    },
  };
}
