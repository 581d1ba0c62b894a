import { z } from 'zod';
import { DEFAULT_LESSON_FIELDS, type LessonPart } from '../core/schedules/lesson-fields.ts';
import { text, wholeNumber } from './fields.ts';

function names(part: LessonPart, what: string) {
  return z
    .array(text(200))
    .min(1, { error: 'names no field' })
    .max(50)
    .prefault([...DEFAULT_LESSON_FIELDS[part]])
    .describe(what);
}

/** Whose schedules are mirrored, for which days, and what the hub calls the parts of a lesson. */
export const schedules = z
  .strictObject({
    students: z
      .union([z.enum(['absent', 'all']), z.array(text())], {
        error: 'must be absent, all or a list of ids',
      })
      .prefault('absent')
      .describe('Whose schedules: absent (an absence in these days), all, or ids.'),
    daysBack: wholeNumber({ min: 0, max: 366 }).prefault(7).describe('Days before today.'),
    daysAhead: wholeNumber({ min: 0, max: 366 }).prefault(14).describe('Days after today.'),
    fields: z
      .strictObject({
        id: names('id', 'Identifier.'),
        title: names('title', 'Title.'),
        date: names('date', 'The day, where start and end are times of day.'),
        start: names('start', 'Beginning: a timestamp, or a time of day.'),
        end: names('end', 'End, likewise.'),
        classes: names('classes', 'Teaching groups: references or ids, one or a list.'),
        teachers: names('teachers', 'Teachers, likewise.'),
        rooms: names('rooms', 'Rooms, likewise.'),
        cancelled: names('cancelled', 'Whether it is cancelled: a boolean, or a word for its state.'),
      })
      .prefault({})
      .describe(
        'What the hub calls the parts of a lesson: names in the order in which they are tried, in place of the default ones. `a.b`: member `b` of `a`.',
      ),
  })
  .prefault({})
  .describe('Which schedules are mirrored.');
