import type { JsonObject } from '../json.ts';
import { textOf } from '../json.ts';
import type { District } from './district.ts';
import { nextId, patchRow, putRow, removeRowFrom } from './district-operations.ts';
import { absenceContent, summaryContent, summaryId } from './generate/absences.ts';
import { at, semesterOf } from './generate/district-plan.ts';
import { contentOf, findRow, referencedId } from './row-store.ts';
import { osloDate } from './school-calendar.ts';

export interface AbsenceRegistration {
  student: string;
  /** ISO 8601 */
  fromTime: string;
  toTime: string;
  /** Left out: the whole day, or outside of class. */
  classId?: string | undefined;
  /** Left out: the student's primary org. */
  school?: string | undefined;
  /** Chosen by a test that wants to steer how ids sort. */
  id?: string | undefined;
}

/** @returns id of the new record. @throws RangeError for an unknown student or an invalid time */
export function registerAbsence(district: District, absence: AbsenceRegistration): string {
  const fromMs = Date.parse(absence.fromTime);
  const toMs = Date.parse(absence.toTime);
  if (Number.isNaN(fromMs) || Number.isNaN(toMs))
    throw new RangeError('fromTime and toTime are ISO 8601 timestamps');
  const { students } = district.listings;
  const student = findRow(students, absence.student);
  if (student === undefined) throw new RangeError(`There is no student ${absence.student}.`);
  const school =
    absence.school ??
    referencedId(contentOf(students.store, student)['primaryOrg']) ??
    at(district.plan.ids.orgs, 0);
  const row = absenceContent({
    refer: district.refer,
    fromMs,
    toMs,
    school,
    student: absence.student,
    term: at(district.plan.ids.sessions, semesterOf(district.plan, osloDate(fromMs))),
    classId: absence.classId,
  });
  const id = putRow(district, 'absences', { row, id: absence.id ?? nextId(district) });
  addToSummary(district, { absence: row, sign: 1 });
  return id;
}

/**
 * Spec section 3: a new record replaces the current one, which is changed in nothing but `replacedBy`.
 *
 * @returns id of the new record. @throws RangeError if the record is unknown, replaced or deleted
 */
export function replaceAbsence(
  district: District,
  id: string,
  options: { changes?: JsonObject | undefined; newId?: string | undefined } = {},
): string {
  const before = currentAbsence(district, id);
  const successor: JsonObject = {
    ...before,
    ...options.changes,
    replaces: district.refer('absence', id),
    replacedBy: null,
  };
  const from = Date.parse(textOf(successor['fromTime']));
  const to = Date.parse(textOf(successor['toTime']));
  if (options.changes?.['absenceDurationValue'] === undefined)
    successor['absenceDurationValue'] = Math.round((to - from) / 60_000);
  const newId = putRow(district, 'absences', { row: successor, id: options.newId ?? nextId(district) });
  patchRow(district, 'absences', { id, fields: { replacedBy: district.refer('absence', newId) } });
  addToSummary(district, { absence: before, sign: -1 });
  addToSummary(district, { absence: successor, sign: 1 });
  return newId;
}

/** Spec section 3: `deletedTime` is set, nothing else changes. @throws RangeError as replaceAbsence */
export function deleteAbsence(district: District, id: string): void {
  const before = currentAbsence(district, id);
  const now = new Date(district.clock.now()).toISOString();
  patchRow(district, 'absences', { id, fields: { deletedTime: now } });
  addToSummary(district, { absence: before, sign: -1 });
}

/** The whole chain leaves the hub for good, as when old data is thrown away. Returns the ids that went. */
export function purgeAbsence(district: District, id: string): string[] {
  const gone: string[] = [];
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { absences } = district.listings;
    const row = findRow(absences, next);
    if (row === undefined) continue;
    const content = contentOf(absences.store, row);
    for (const field of ['replaces', 'replacedBy']) {
      const other = referencedId(content[field]);
      if (other !== undefined) open.push(other);
    }
    removeRowFrom(district, 'absences', next);
    gone.push(next);
  }
  return gone;
}

function currentAbsence(district: District, id: string): JsonObject {
  const { absences } = district.listings;
  const row = findRow(absences, id);
  if (row === undefined) throw new RangeError(`There is no absence record ${id}.`);
  const content = contentOf(absences.store, row);
  if (content['replacedBy'] !== null && content['replacedBy'] !== undefined)
    throw new RangeError(`The record ${id} is replaced already.`);
  if (typeof content['deletedTime'] === 'string' && content['deletedTime'] !== '')
    throw new RangeError(`The record ${id} is deleted already.`);
  return content;
}

/** Keeps the student's summary of the semester in step. */
function addToSummary(district: District, options: { absence: JsonObject; sign: 1 | -1 }): void {
  const { absence, sign } = options;
  const student = referencedId(absence['student']);
  const fromMs = Date.parse(textOf(absence['fromTime']));
  if (student === undefined || Number.isNaN(fromMs)) return;
  const semester = semesterOf(district.plan, osloDate(fromMs));
  const id = summaryId(district.plan, student, semester);
  const summaries = district.listings['absence-summaries'];
  const row = findRow(summaries, id);
  const content = row === undefined ? {} : contentOf(summaries.store, row);
  const number = (field: string): number => (typeof content[field] === 'number' ? content[field] : 0);
  const minutes = typeof absence['absenceDurationValue'] === 'number' ? absence['absenceDurationValue'] : 0;
  const [school] = Array.isArray(absence['school']) ? absence['school'] : [];
  const fresh = summaryContent({
    refer: district.refer,
    student,
    school: referencedId(school) ?? at(district.plan.ids.orgs, 0),
    term: at(district.plan.ids.sessions, semester),
    sum: {
      minutes: number('absenceDurationValue') + sign * minutes,
      absences: number('numberOfAbsences') + sign,
      fullDays: number('numberOfFullDays') + (absence['classesAffected'] === undefined ? sign : 0),
    },
  });
  putRow(district, 'absence-summaries', {
    row: { ...fresh, ...(row === undefined ? {} : { school: content['school'] }) },
    id,
  });
}
