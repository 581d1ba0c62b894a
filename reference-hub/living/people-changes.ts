import type { District } from '../district/district.ts';
import { membershipOf } from '../district/district.ts';
import { nextId, patchRow, putRow, removeRowFrom } from '../district/district-operations.ts';
import { guardianContent, studentContent } from '../district/generate/people.ts';
import { enrolmentContent, enrolmentId } from '../district/generate/teaching.ts';
import type { Row } from '../district/row.ts';
import { contentOf, findRow, peekAt, referencedId } from '../district/row-store.ts';
import { osloDate } from '../district/school-calendar.ts';
import { valuesAt } from '../json.ts';
import type { Random } from '../random.ts';
import type { Change } from './change.ts';
import { anyRow } from './change.ts';

export const PEOPLE_CHANGES: readonly Change[] = [
  { name: 'enrolment moved', weight: 5, make: moveEnrolment },
  { name: 'contact changed', weight: 3, make: changeContact },
  { name: 'class moved to another room', weight: 1, make: changeRoom },
  { name: 'student joined', weight: 1, make: join },
  { name: 'student left', weight: 0.5, make: leave },
];

/**
 * Moves a student from one class to another class of the same school, which has a different course and in which the
 * student is not yet.
 */
function moveEnrolment(district: District, random: Random): boolean {
  const { enrollments, classes } = district.listings;
  const row = anyRow(enrollments, {
    random,
    fits: (candidate) => peekAt(enrollments.store, candidate, 'role') === 'student',
  });
  if (row === undefined) return false;
  const user = peekAt(enrollments.store, row, 'user');
  const from = findRow(classes, peekAt(enrollments.store, row, 'class') ?? '');
  if (user === undefined || from === undefined) return false;
  const { school, courses } = placeOf(district, from);
  const taken = new Set(membershipOf(district).classesOfStudent.get(user)?.values() ?? []);
  const to = anyRow(classes, {
    random,
    fits: (candidate) => {
      const place = placeOf(district, candidate);
      return !taken.has(candidate.id) && place.school === school && place.courses !== courses;
    },
  });
  if (to === undefined || school === undefined) return false;
  removeRowFrom(district, 'enrollments', row.id);
  enrol(district, { user, classId: to.id, school });
  return true;
}

function placeOf(district: District, row: Row): { school: string | undefined; courses: string | undefined } {
  const content = contentOf(district.listings.classes.store, row);
  return { school: referencedId(content['school']), courses: referencedId(content['course']) };
}

function enrol(district: District, options: { user: string; classId: string; school: string }): void {
  const row = enrolmentContent({
    ...options,
    plan: district.plan,
    refer: district.refer,
    role: 'student',
    beginDate: osloDate(district.clock.now()),
  });
  putRow(district, 'enrollments', { row, id: enrolmentId(options.classId, options.user, 'student') });
}

function changeContact(district: District, random: Random): boolean {
  const row = anyRow(district.listings.users, { random });
  if (row === undefined) return false;
  return patchRow(district, 'users', {
    id: row.id,
    fields: { email: `moved.${random.below(1_000_000)}@district.example` },
  });
}

function changeRoom(district: District, random: Random): boolean {
  const row = anyRow(district.listings.classes, { random });
  if (row === undefined) return false;
  return patchRow(district, 'classes', { id: row.id, fields: { location: `Rom ${200 + random.below(80)}` } });
}

/** A new student with a guardian, in all classes of somebody who is there already. */
function join(district: District, random: Random): boolean {
  const { students } = district.listings;
  const model = anyRow(students, { random });
  if (model === undefined) return false;
  const content = contentOf(students.store, model);
  const school = referencedId(content['primaryOrg']);
  const classes = new Set(membershipOf(district).classesOfStudent.get(model.id)?.values() ?? []);
  if (school === undefined || classes.size === 0) return false;
  const student = nextId(district);
  const guardian = nextId(district);
  const number = 1_000_000 + district.idsGiven;
  const common = { plan: district.plan, refer: district.refer, number, school };
  const grade = Number(valuesAt(content, ['grades'])[0] ?? 1) || 1;
  putRow(district, 'users', {
    row: studentContent({ ...common, grade, guardians: [guardian] }),
    id: student,
  });
  putRow(district, 'users', {
    row: guardianContent({ ...common, student, profileId: `userprofile://user/${student}` }),
    id: guardian,
  });
  for (const classId of classes) enrol(district, { user: student, classId, school });
  return true;
}

/** Everything of and about the student vanishes, and guardians who have no other child here. */
function leave(district: District, random: Random): boolean {
  const { students, users } = district.listings;
  if (students.rows.length < 20) return false;
  const row = anyRow(students, { random });
  if (row === undefined) return false;
  const guardians = valuesAt(contentOf(students.store, row), ['agents', 'sourcedId']);
  for (const enrolment of enrolmentsOf(district, row.id)) removeRowFrom(district, 'enrollments', enrolment);
  for (const name of ['results', 'assessment-results', 'absences', 'absence-summaries'] as const) {
    const listing = district.listings[name];
    const ids = listing.rows
      .filter((owned) => peekAt(listing.store, owned, 'student') === row.id)
      .map((owned) => owned.id);
    for (const id of ids) removeRowFrom(district, name, id);
  }
  removeRowFrom(district, 'users', row.id);
  for (const guardian of guardians) {
    if (typeof guardian !== 'string') continue;
    const found = findRow(users, guardian);
    const children =
      found === undefined ? [] : valuesAt(contentOf(users.store, found), ['agents', 'sourcedId']);
    if (children.length === 1) removeRowFrom(district, 'users', guardian);
  }
  return true;
}

function enrolmentsOf(district: District, user: string): string[] {
  return [...(membershipOf(district).classesOfStudent.get(user)?.keys() ?? [])];
}
