import { addDays } from '../district/school-calendar.ts';
import type { LessonRange } from '../district/lessons.ts';
import { badRequest } from './reply.ts';

const LONGEST_RANGE_DAYS = 400;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** @throws RequestRefused 400 if a parameter of spec 4.4 is missing or no date */
export function readScheduleQuery(parameters: URLSearchParams): LessonRange {
  const student = parameters.get('student') ?? '';
  const from = parameters.get('from') ?? '';
  const to = parameters.get('to') ?? '';
  if (student === '') throw badRequest('student is missing');
  for (const [name, date] of [
    ['from', from],
    ['to', to],
  ] as const) {
    if (!DATE.test(date) || Number.isNaN(Date.parse(date))) throw badRequest(`${name} is a date, YYYY-MM-DD`);
  }
  if (to > addDays(from, LONGEST_RANGE_DAYS))
    throw badRequest(`from and to lie at most ${LONGEST_RANGE_DAYS} days apart`);
  return { student, from, to };
}
