import type { Row } from './row.ts';
import type { Listing } from './row-store.ts';
import { peekAt } from './row-store.ts';

/** Which students are in which class, kept in step with the enrolments. */
export interface Membership {
  /** Class id to enrolment id to user id, students only. */
  readonly studentsOfClass: Map<string, Map<string, string>>;
  /** User id to enrolment id to class id, students only. */
  readonly classesOfStudent: Map<string, Map<string, string>>;
}

export function indexMembership(enrolments: Listing): Membership {
  const membership: Membership = { studentsOfClass: new Map(), classesOfStudent: new Map() };
  for (const row of enrolments.rows) addMember(membership, enrolments, row);
  return membership;
}

export function addMember(membership: Membership, enrolments: Listing, row: Row): void {
  const member = memberOf(enrolments, row);
  if (member === undefined) return;
  entry(membership.studentsOfClass, member.classId).set(row.id, member.user);
  entry(membership.classesOfStudent, member.user).set(row.id, member.classId);
}

export function dropMember(membership: Membership, enrolments: Listing, row: Row): void {
  const member = memberOf(enrolments, row);
  if (member === undefined) return;
  membership.studentsOfClass.get(member.classId)?.delete(row.id);
  membership.classesOfStudent.get(member.user)?.delete(row.id);
}

function memberOf(enrolments: Listing, row: Row): { user: string; classId: string } | undefined {
  if (peekAt(enrolments.store, row, 'role') !== 'student') return undefined;
  const user = peekAt(enrolments.store, row, 'user');
  const classId = peekAt(enrolments.store, row, 'class');
  return user === undefined || classId === undefined ? undefined : { user, classId };
}

function entry(map: Map<string, Map<string, string>>, key: string): Map<string, string> {
  const found = map.get(key);
  if (found !== undefined) return found;
  const created = new Map<string, string>();
  map.set(key, created);
  return created;
}
