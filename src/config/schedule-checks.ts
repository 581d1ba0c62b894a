import { collectionOf, type WhichStudents } from '../core/lessons/which-students.ts';
import { listOf, mapOf, type Finding } from './problem.ts';

/** Checks `schedules` against the collections of a tenant, in the unparsed file. */
export function scheduleFindings(tenant: Readonly<Record<string, unknown>>, index: number): Finding[] {
  const { collections } = tenant;
  const isList = Array.isArray(collections);
  const own = isList ? undefined : mapOf(collections)['schedules'];
  const isNamed = isList ? collections.includes('schedules') : own !== undefined && isOn(own);
  // By default, schedules are off if no collection shows which students have them.
  const isWanted = isNamed || (!isList && own === undefined && tenant['schedules'] !== undefined);
  if (!isWanted) return isMirrored(collections, 'schedules') ? studentFindings(tenant, index) : [];
  return [
    ...sourceFindings(tenant, index),
    ...fieldFindings(tenant, index),
    ...studentFindings(tenant, index),
  ];
}

function sourceFindings(tenant: Readonly<Record<string, unknown>>, index: number): Finding[] {
  const students = mapOf(tenant['schedules'])['students'] ?? 'absent';
  if (students !== 'absent' && students !== 'all') return [];
  const needed = collectionOf(students satisfies WhichStudents) ?? '';
  if (isMirrored(tenant['collections'], needed)) return [];
  return [
    {
      path: [index, 'schedules', 'students'],
      message: `needs the collection ${needed} for ${students}: enable that, name ids, or disable the collection schedules`,
    },
  ];
}

/** Absences show which students have schedules, and the hub does not know a pseudonym. */
function studentFindings(tenant: Readonly<Record<string, unknown>>, index: number): Finding[] {
  const students = mapOf(tenant['schedules'])['students'] ?? 'absent';
  if (students !== 'absent' || !isMirrored(tenant['collections'], 'absences')) return [];
  const settings = mapOf(mapOf(tenant['collections'])['absence-versions']);
  return ['drop', 'pseudonymise'].flatMap((kind) =>
    listOf(settings[kind]).flatMap((field, position) =>
      field === 'student'
        ? [
            {
              path: [index, 'collections', 'absence-versions', kind, position],
              message:
                'names the student, and schedules of absent students need it: keep it, name ids under schedules.students, or disable the collection schedules',
            },
          ]
        : [],
    ),
  );
}

/** Rollcall needs the start of a lesson to know its day. */
function fieldFindings(tenant: Readonly<Record<string, unknown>>, index: number): Finding[] {
  const name = mapOf(mapOf(tenant['schedules'])['fields'])['start'] ?? 'start';
  const [start] = typeof name === 'string' ? name.split('.') : [];
  const settings = mapOf(mapOf(tenant['collections'])['schedules']);
  return ['drop', 'pseudonymise'].flatMap((kind) =>
    listOf(settings[kind]).flatMap((field, position) =>
      field === start
        ? [
            {
              path: [index, 'collections', 'schedules', kind, position],
              message: 'names a field that Rollcall needs',
            },
          ]
        : [],
    ),
  );
}

function isMirrored(collections: unknown, name: string): boolean {
  return Array.isArray(collections) ? collections.includes(name) : isOn(mapOf(collections)[name]);
}

function isOn(settings: unknown): boolean {
  const { enabled } = mapOf(settings);
  return enabled !== false && enabled !== 'false';
}
