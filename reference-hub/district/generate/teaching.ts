import type { JsonObject } from '../../json.ts';
import { uuidFrom } from '../../random.ts';
import type { Refer } from '../references.ts';
import type { Row } from '../row.ts';
import { generatedRow } from '../row.ts';
import type { Generated } from '../row-store.ts';
import type { DistrictPlan } from './district-plan.ts';
import {
  at,
  gradeOfHomeroom,
  ID,
  schoolIdOf,
  studentsOfHomeroom,
  SUBJECTS,
  teacherOfClass,
} from './district-plan.ts';
import type { NamedContent } from './organisation.ts';

const GRADES = 13;

/** Course of a grade and group; group 0 is the homeroom's. */
export function courseId(plan: DistrictPlan, grade: number, group: number): string {
  return uuidFrom(plan.seed, ID.course, grade * 100 + group);
}

export function generateCourses(plan: DistrictPlan, refer: Refer): NamedContent[] {
  const courses: NamedContent[] = [];
  for (let grade = 1; grade <= GRADES; grade += 1) {
    for (let group = 0; group < plan.classesPerHomeroom; group += 1) {
      const [code, name] = group === 0 ? ['KLT', 'Klassens time'] : at(SUBJECTS, group - 1);
      courses.push([
        courseId(plan, grade, group),
        {
          status: 'active',
          title: `${name} ${grade}. trinn`,
          courseCode: `${code}${String(grade).padStart(2, '0')}`,
          schoolYear: refer('academicSession', at(plan.ids.sessions, 0)),
          grades: [String(grade)],
          subjects: [name],
          org: refer('org', at(plan.ids.orgs, 0)),
          subjectCodes: [code],
          metadata: { 'onedhub.initialYear': 2020 },
        },
      ]);
    }
  }
  return courses;
}

export function generateClasses(plan: DistrictPlan, refer: Refer): Generated {
  return {
    builder: { build: (index) => buildClass(plan, { refer, index }) },
    rows: plan.ids.classes.map((id, index) => generatedRow(id, index)),
  };
}

function buildClass(plan: DistrictPlan, options: { refer: Refer; index: number }): JsonObject {
  const { refer, index } = options;
  const homeroom = Math.floor(index / plan.classesPerHomeroom);
  const group = index % plan.classesPerHomeroom;
  const grade = gradeOfHomeroom(plan, homeroom);
  const label = `${grade}${'ABCDEFGH'[Math.floor(homeroom / 3) % 8] ?? 'A'}`;
  const [code, name] = group === 0 ? ['KLT', 'Klassens time'] : at(SUBJECTS, group - 1);
  return {
    status: 'active',
    title: group === 0 ? label : `${label} ${name}`,
    classCode: `${label}-${code}-${homeroom}`,
    classType: group === 0 ? 'homeroom' : 'scheduled',
    location: `Rom ${100 + (index % 80)}`,
    grades: [String(grade)],
    subjects: [name],
    course: refer('course', courseId(plan, grade, group)),
    school: refer('org', schoolIdOf(plan, homeroom)),
    terms: [
      refer('academicSession', at(plan.ids.sessions, 1)),
      refer('academicSession', at(plan.ids.sessions, 2)),
    ],
    subjectCodes: [code],
    metadata: {
      'onedhub.groupType': group === 0 ? 'Class' : 'SubjectGroup',
      'onedhub.parentGroups': group === 0 ? undefined : [label],
    },
  };
}

/** Enrolment ids are composite (spec 2.3): class, user and role joined by colons. */
export function enrolmentId(classId: string, userId: string, role: string): string {
  return `${classId}:${userId}:${role}`;
}

/** Every student in every class of the homeroom, every class with its teacher. */
export function generateEnrolments(plan: DistrictPlan, refer: Refer): Generated {
  const classes: number[] = [];
  const users: number[] = [];
  const rows: Row[] = [];
  for (const [index, classId] of plan.ids.classes.entries()) {
    const { first, end } = studentsOfHomeroom(plan, Math.floor(index / plan.classesPerHomeroom));
    for (let student = first; student < end; student += 1) {
      rows.push(generatedRow(enrolmentId(classId, at(plan.ids.students, student), 'student'), users.length));
      classes.push(index);
      users.push(student);
    }
    const teacher = teacherOfClass(plan, index);
    rows.push(generatedRow(enrolmentId(classId, at(plan.ids.teachers, teacher), 'teacher'), users.length));
    classes.push(index);
    users.push(-1 - teacher);
  }
  const classOf = Int32Array.from(classes);
  const userOf = Int32Array.from(users);
  const userId = (index: number): string => {
    const user = userOf[index] ?? 0;
    return user < 0 ? at(plan.ids.teachers, -1 - user) : at(plan.ids.students, user);
  };
  const classId = (index: number): string => at(plan.ids.classes, classOf[index] ?? 0);
  const role = (index: number): 'teacher' | 'student' => ((userOf[index] ?? 0) < 0 ? 'teacher' : 'student');
  return {
    rows,
    builder: {
      peek: (index, field) => {
        if (field === 'user') return userId(index);
        if (field === 'class') return classId(index);
        return field === 'role' ? role(index) : undefined;
      },
      build: (index) =>
        enrolmentContent({
          plan,
          refer,
          user: userId(index),
          classId: classId(index),
          school: schoolIdOf(plan, Math.floor((classOf[index] ?? 0) / plan.classesPerHomeroom)),
          role: role(index),
        }),
    },
  };
}

export function enrolmentContent(options: {
  plan: DistrictPlan;
  refer: Refer;
  user: string;
  classId: string;
  school: string;
  role: 'student' | 'teacher';
  beginDate?: string | undefined;
}): JsonObject {
  const { plan, refer, role } = options;
  return {
    status: 'active',
    user: refer('user', options.user),
    class: refer('class', options.classId),
    school: refer('org', options.school),
    role,
    primary: role === 'teacher' ? 'true' : undefined,
    beginDate: options.beginDate ?? `${plan.schoolYear}-08-17`,
    endDate: `${plan.schoolYear + 1}-06-19`,
  };
}
