import { deleteAbsence, registerAbsence, replaceAbsence } from '../district/absence-operations.ts';
import type { District } from '../district/district.ts';
import { lessonsOf } from '../district/lessons.ts';
import type { Row } from '../district/row.ts';
import { contentOf, referencedId } from '../district/row-store.ts';
import { addDays, isSchoolDay, osloDate } from '../district/school-calendar.ts';
import type { JsonObject } from '../json.ts';
import { textOf } from '../json.ts';
import type { Random } from '../random.ts';
import type { Change } from './change.ts';
import { anyRow } from './change.ts';

export const ABSENCE_CHANGES: readonly Change[] = [
  { name: 'absence registered', weight: 45, make: register },
  { name: 'absence replaced', weight: 18, make: replace },
  { name: 'absence deleted', weight: 6, make: remove },
];

/** A lesson of the latest school day, or all of it. */
function register(district: District, random: Random): boolean {
  const student = anyRow(district.listings.students, { random });
  const date = latestSchoolDay(osloDate(district.clock.now()));
  if (student === undefined) return false;
  const lessons = lessonsOf(district, { student: student.id, from: date, to: date });
  const [first] = lessons;
  const last = lessons.at(-1);
  if (first === undefined || last === undefined) return false;
  if (random.chance(0.3)) {
    registerAbsence(district, {
      student: student.id,
      fromTime: textOf(first['start']),
      toTime: textOf(last['end']),
    });
    return true;
  }
  const lesson = random.pick(lessons);
  const [reference] = [lesson['class']].flat();
  registerAbsence(district, {
    student: student.id,
    fromTime: textOf(lesson['start']),
    toTime: textOf(lesson['end']),
    classId: referencedId(reference),
  });
  return true;
}

/** The student came earlier or later than first written down. */
function replace(district: District, random: Random): boolean {
  const row = currentAbsence(district, random);
  if (row === undefined) return false;
  const content = contentOf(district.listings.absences.store, row);
  const fromMs = Date.parse(textOf(content['fromTime']));
  const toMs = fromMs + (5 + random.below(40)) * 60_000;
  replaceAbsence(district, row.id, { changes: { toTime: new Date(toMs).toISOString() } });
  return true;
}

function remove(district: District, random: Random): boolean {
  const row = currentAbsence(district, random);
  if (row === undefined) return false;
  deleteAbsence(district, row.id);
  return true;
}

function currentAbsence(district: District, random: Random): Row | undefined {
  const { absences } = district.listings;
  return anyRow(absences, { random, fits: (row) => isCurrent(contentOf(absences.store, row)) });
}

/** Neither replaced nor deleted, and with times that can be read. */
function isCurrent(absence: JsonObject): boolean {
  const replaced = absence['replacedBy'] !== null && absence['replacedBy'] !== undefined;
  const deleted = typeof absence['deletedTime'] === 'string' && absence['deletedTime'] !== '';
  return !replaced && !deleted && !Number.isNaN(Date.parse(textOf(absence['fromTime'])));
}

function latestSchoolDay(date: string): string {
  let day = date;
  for (let back = 0; back < 80 && !isSchoolDay(day); back += 1) day = addDays(day, -1);
  return day;
}
