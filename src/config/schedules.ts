import { z } from 'zod';
import type { LessonPart } from '../core/lessons/read-lesson.ts';
import { text, wholeNumber } from './fields.ts';
import type { CollectionName } from '../model/collections.ts';

/** By default, a part of a lesson is the field of the same name. */
function field(part: LessonPart, what: string) {
  return text(200)
    .regex(/^[^.]+(\.[^.]+)*$/, { error: 'must be the name of a field, or names with one dot between them' })
    .prefault(part)
    .describe(what);
}

/** The students and days of mirrored schedules, and the hub's names for the parts of a lesson. */
export const schedules = z
  .strictObject({
    students: z
      .union([z.enum(['absent', 'all']), z.array(text())], {
        error: 'must be absent, all or a list of ids',
      })
      .prefault('absent')
      .describe(
        'Students whose lessons are mirrored: `absent` (those with an absence in the days of `daysBack` and `daysAhead`), `all`, or a list of ids.',
      ),
    daysBack: wholeNumber({ min: 0, max: 366 })
      .prefault(7)
      .describe('For how many days before today lessons are mirrored.'),
    daysAhead: wholeNumber({ min: 0, max: 366 })
      .prefault(14)
      .describe('For how many days after today lessons are mirrored.'),
    fields: z
      .strictObject({
        id: field(
          'id',
          'Field with the id of the lesson. For this and the next fields, `a.b` means: field `b` inside `a`, or inside each element of the list `a`.',
        ),
        title: field('title', 'Field with the title.'),
        start: field(
          'start',
          'Field with the start: a timestamp or a date. A lesson belongs to the day on which it starts.',
        ),
        end: field('end', 'Field with the end: a timestamp.'),
        class: field('class', 'Field with the class: a reference, an id, or a list of them.'),
        teachers: field('teachers', 'Field with the teachers: a reference, an id, or a list of them.'),
        rooms: field('rooms', 'Field with the rooms: a text, or a list.'),
        cancelled: field('cancelled', 'Field that says whether the lesson is cancelled: a boolean.'),
      })
      .prefault({})
      .describe("The hub's field for each part of a lesson."),
  })
  .prefault({})
  .describe('The lessons of students.');

/** The students whose schedules are mirrored: absent ones, all, or these ids. */
export type WhichStudents = 'absent' | 'all' | readonly string[];

/** The collection that names these students; null for a list of ids. */
export function collectionOf(which: WhichStudents): CollectionName | null {
  if (which === 'absent') return 'absences';
  return which === 'all' ? 'students' : null;
}
