import type { JsonObject } from '../../json.ts';
import { mix, uuidFrom } from '../../random.ts';
import type { Refer } from '../references.ts';
import type { Row } from '../row.ts';
import { generatedRow } from '../row.ts';
import type { RowBuilder } from '../row-store.ts';
import type { DistrictPlan } from './district-plan.ts';
import { at, gradeOfHomeroom, homeroomOf, ID, schoolIdOf } from './district-plan.ts';
import { inventName } from './names.ts';

/** Users: students, then teachers, then one principal per school, then guardians (two places per student). */
export interface People {
  readonly builder: RowBuilder;
  readonly users: Row[];
  readonly students: Row[];
  readonly teachers: Row[];
}

interface Offsets {
  readonly teachers: number;
  readonly principals: number;
  readonly guardians: number;
}

export function generatePeople(plan: DistrictPlan, refer: Refer): People {
  const offsets = {
    teachers: plan.size.students,
    principals: plan.size.students + plan.ids.teachers.length,
    guardians: plan.size.students + plan.ids.teachers.length + plan.schools,
  };
  const students = plan.ids.students.map((id, index) => generatedRow(id, index));
  const teachers = plan.ids.teachers.map((id, index) => generatedRow(id, offsets.teachers + index));
  const others: Row[] = [];
  for (let school = 0; school < plan.schools; school += 1) {
    others.push(generatedRow(uuidFrom(plan.seed, ID.staff, school), offsets.principals + school));
  }
  for (let student = 0; student < plan.size.students; student += 1) {
    for (const guardian of guardiansOf(plan, student)) {
      others.push(generatedRow(uuidFrom(plan.seed, ID.guardian, guardian), offsets.guardians + guardian));
    }
  }
  return {
    builder: { build: (index) => buildUser({ plan, refer, offsets }, index) },
    users: [...students, ...teachers, ...others],
    students,
    teachers,
  };
}

/** One student in ten has one guardian, the others two. */
function guardiansOf(plan: DistrictPlan, student: number): number[] {
  return mix(plan.seed, ID.guardian, student) % 10 === 0 ? [student * 2] : [student * 2, student * 2 + 1];
}

interface Context {
  readonly plan: DistrictPlan;
  readonly refer: Refer;
  readonly offsets: Offsets;
}

function buildUser(context: Context, index: number): JsonObject {
  const { offsets } = context;
  if (index < offsets.teachers) return buildStudent(context, index);
  if (index < offsets.principals) return buildTeacher(context, index - offsets.teachers);
  if (index < offsets.guardians) return buildPrincipal(context, index - offsets.principals);
  return buildGuardian(context, index - offsets.guardians);
}

function buildStudent({ plan, refer }: Context, student: number): JsonObject {
  const homeroom = homeroomOf(plan, student);
  const grade = gradeOfHomeroom(plan, homeroom);
  return studentContent({
    plan,
    refer,
    grade,
    number: student,
    school: schoolIdOf(plan, homeroom),
    guardians: guardiansOf(plan, student).map((guardian) => uuidFrom(plan.seed, ID.guardian, guardian)),
  });
}

/** A student as the hub serves one; used for those that join later, too. */
export function studentContent(options: {
  plan: DistrictPlan;
  refer: Refer;
  number: number;
  grade: number;
  school: string;
  guardians: readonly string[];
}): JsonObject {
  const { plan, refer, number, grade } = options;
  const hash = mix(plan.seed, ID.student, number, 1);
  const name = inventName(plan.seed, ID.student, number);
  const [month, day] = [1 + (hash % 12), 1 + ((hash >>> 4) % 28)].map((part) =>
    String(part).padStart(2, '0'),
  );
  return {
    ...person({ plan, name }),
    roles: [role(refer, { name: 'student', org: options.school, beginDate: `${plan.schoolYear}-08-01` })],
    primaryOrg: refer('org', options.school),
    agents: options.guardians.map((guardian) => refer('user', guardian)),
    grades: [String(grade)],
    metadata: {
      'onedhub.birthDate': `${plan.schoolYear - 5 - grade}-${month}-${day}`,
      'onedhub.gender': hash % 2 === 0 ? 'female' : 'male',
      'onedhub.formOfWrittenNorwegian': hash % 8 === 0 ? 'nn' : 'nb',
      'onedhub.firstLanguage': hash % 11 === 0 ? 'eng' : 'nob',
    },
  };
}

function buildTeacher({ plan, refer }: Context, teacher: number): JsonObject {
  const school = at(plan.ids.orgs, Math.floor(teacher / plan.teachersPerSchool) + 1);
  return {
    ...person({ plan, name: inventName(plan.seed, ID.teacher, teacher) }),
    roles: [role(refer, { name: 'teacher', org: school })],
    primaryOrg: refer('org', school),
    metadata: {
      'onedhub.employeeNumber': String(10_000 + teacher),
      'onedhub.employeeFromDate': `${plan.schoolYear - 3}-08-01`,
    },
  };
}

function buildPrincipal({ plan, refer }: Context, school: number): JsonObject {
  const org = at(plan.ids.orgs, school + 1);
  return {
    ...person({ plan, name: inventName(plan.seed, ID.staff, school) }),
    roles: [role(refer, { name: 'principal', org })],
    primaryOrg: refer('org', org),
    metadata: { 'onedhub.employeeNumber': String(1000 + school) },
  };
}

function buildGuardian({ plan, refer }: Context, guardian: number): JsonObject {
  const student = guardian >> 1;
  const homeroom = homeroomOf(plan, student);
  const profileId = `userprofile://user/${at(plan.ids.students, student)}`;
  return guardianContent({
    plan,
    refer,
    number: guardian,
    profileId,
    student: at(plan.ids.students, student),
    school: schoolIdOf(plan, homeroom),
  });
}

export function guardianContent(options: {
  plan: DistrictPlan;
  refer: Refer;
  number: number;
  student: string;
  school: string;
  profileId: string;
}): JsonObject {
  const { plan, refer, number, profileId } = options;
  return {
    ...person({ plan, name: inventName(plan.seed, ID.guardian, number) }),
    roles: [{ ...role(refer, { name: 'guardian', org: options.school }), userProfile: profileId }],
    userProfiles: [{ profileId, profileType: 'RoleExtension', vendorId: 'Prøveleverandøren' }],
    agents: [refer('user', options.student)],
    phone: `00${String(number % 1_000_000).padStart(6, '0')}`,
  };
}

function person(options: { plan: DistrictPlan; name: ReturnType<typeof inventName> }): JsonObject {
  const { given, family, handle } = options.name;
  return {
    status: 'active',
    username: handle,
    userIds: [{ type: 'FEIDE', identifier: `${handle}@district.example` }],
    enabledUser: 'true',
    givenName: given,
    familyName: family,
    email: `${handle}@district.example`,
  };
}

function role(refer: Refer, options: { name: string; org: string; beginDate?: string }): JsonObject {
  return {
    roleType: 'primary',
    role: options.name,
    org: refer('org', options.org),
    beginDate: options.beginDate,
  };
}
