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
      .describe('Whose: `absent` (an absence in these days), `all`, or ids.'),
    daysBack: wholeNumber({ min: 0, max: 366 }).prefault(7).describe('Days before today.'),
    daysAhead: wholeNumber({ min: 0, max: 366 }).prefault(14).describe('Days after today.'),
    fields: z
      .strictObject({
        id: field(
          'id',
          'Identifier. `a.b`: member `b` of `a`, or of each element of `a`; so with all fields.',
        ),
        title: field('title', 'Title.'),
        start: field('start', 'Start, which gives the day: a timestamp or a date.'),
        end: field('end', 'End: a timestamp.'),
        class: field('class', 'Teaching group: a reference or id, or a list.'),
        teachers: field('teachers', 'Teachers: a reference or id, or a list.'),
        rooms: field('rooms', 'Rooms: a text, or a list.'),
        cancelled: field('cancelled', 'Whether it is cancelled: a boolean.'),
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
