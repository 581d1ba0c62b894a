import type { LessonFields } from '../../../../src/core/lessons/read-lesson.ts';

/** The fields without a setting: each part under its own name. */
export const DEFAULT_LESSON_FIELDS: LessonFields = {
  id: 'id',
  title: 'title',
  start: 'start',
  end: 'end',
  class: 'class',
  teachers: 'teachers',
  rooms: 'rooms',
  cancelled: 'cancelled',
};
