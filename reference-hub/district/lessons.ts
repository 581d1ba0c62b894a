import type { JsonObject } from '../json.ts';
import { mix, uuidFrom } from '../random.ts';
import type { District } from './district.ts';
import { membershipOf } from './district.ts';
import { at, classIndex, groupInLesson, ID, teacherOfClass } from './generate/district-plan.ts';
import { findRow, peekAt } from './row-store.ts';
import { addDays, isSchoolDay, LESSONS_PER_DAY, lessonTimes, weekday } from './school-calendar.ts';

/** Dates `YYYY-MM-DD`, both included. */
export interface LessonRange {
  readonly student: string;
  readonly from: string;
  readonly to: string;
}

/** Lessons of a student in a range of dates, both included, by time: those of the classes the student is enrolled in. */
export function lessonsOf(district: District, range: LessonRange): JsonObject[] {
  const classes = [...new Set(membershipOf(district).classesOfStudent.get(range.student)?.values() ?? [])];
  const indexes = classes.map((id) => planIndexOf(district, id)).filter((index) => index !== undefined);
  const lessons: JsonObject[] = [];
  for (let date = range.from; date <= range.to; date = addDays(date, 1)) {
    if (!isSchoolDay(date)) continue;
    for (let lesson = 0; lesson < LESSONS_PER_DAY; lesson += 1) {
      for (const index of indexes) {
        const found = lessonAt(district, { index, date, lesson });
        if (found !== undefined) lessons.push(found);
      }
    }
  }
  return lessons;
}

const PLAN_INDEXES = new WeakMap<District, Map<string, number>>();

/** Classes that were not there at the start have no timetable. */
function planIndexOf(district: District, classId: string): number | undefined {
  let indexes = PLAN_INDEXES.get(district);
  if (indexes === undefined) {
    indexes = new Map(district.plan.ids.classes.map((id, index) => [id, index]));
    PLAN_INDEXES.set(district, indexes);
  }
  return indexes.get(classId);
}

function lessonAt(
  district: District,
  slot: { index: number; date: string; lesson: number },
): JsonObject | undefined {
  const { plan, refer } = district;
  const { index, date, lesson } = slot;
  const homeroom = Math.floor(index / plan.classesPerHomeroom);
  const group = groupInLesson(plan, homeroom, { weekday: weekday(date), lesson });
  if (classIndex(plan, homeroom, group) !== index) return undefined;
  const classId = at(plan.ids.classes, index);
  const row = findRow(district.listings.classes, classId);
  if (row === undefined) return undefined;
  const number = Math.floor(Date.parse(date) / 86_400_000) * 10 + lesson;
  const id = uuidFrom(plan.seed, ID.lesson, index, number);
  const change = district.lessonChanges.get(id);
  if (change === null) return undefined;
  const { startMs, endMs } = lessonTimes(date, lesson);
  return {
    id,
    title: peekAt(district.listings.classes.store, row, 'title') ?? '',
    start: new Date(startMs).toISOString(),
    end: new Date(endMs).toISOString(),
    class: refer('class', classId),
    teachers: [refer('user', at(plan.ids.teachers, teacherOfClass(plan, index)))],
    rooms: [peekAt(district.listings.classes.store, row, 'location') ?? ''],
    cancelled: mix(plan.seed, ID.lesson, index, number) % 61 === 0,
    ...change,
  };
}
