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

/** The students and days of mirrored schedules, and the hub's names for the parts of a lesson. */
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
        date: names('date', 'The day, if start and end are times of day.'),
        start: names('start', 'Start: a timestamp, or a time of day.'),
        end: names('end', 'End: a timestamp, or a time of day.'),
        classes: names('classes', 'Teaching groups: references or ids, one or a list.'),
        teachers: names('teachers', 'Teachers: references or ids, one or a list.'),
        rooms: names('rooms', 'Rooms: references or ids, one or a list.'),
        cancelled: names('cancelled', 'Whether it is cancelled: a boolean, or a word for its state.'),
      })
      .prefault({})
      .describe(
        "The hub's field names for the parts of a lesson, in the order in which Rollcall tries them; they replace the defaults. `a.b`: member `b` of `a`.",
      ),
  })
  .prefault({})
  .describe('The schedules to mirror.');
