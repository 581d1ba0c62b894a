import type { LessonFields } from '../../../../src/core/lessons/read-lesson.ts';

const PARTS = ['id', 'title', 'start', 'end', 'class', 'teachers', 'rooms', 'cancelled'];

/** The fields without a setting: each part under its own name. */
export const DEFAULT_LESSON_FIELDS = Object.fromEntries(PARTS.map((part) => [part, part])) as LessonFields;
