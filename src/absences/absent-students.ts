import { decodeAbsent } from '../core/absences/absent-entry.ts';
import type { DayWindow } from '../core/lessons/window.ts';
import type { CollectionIndex } from '../state/index-store.ts';

/**
 * Students with a current absence that touches these days, from the index of `absence-versions`. It covers absences that end
 * within or after the window of schedules. `dateAt`: the date `YYYY-MM-DD` of an instant (ms since the epoch) in the tenant's
 * time zone.
 */
export async function absentStudents(
  index: Pick<CollectionIndex, 'entries'>,
  { from, to }: DayWindow,
  dateAt: (ms: number) => string,
): Promise<Set<string>> {
  const students = new Set<string>();
  for await (const entries of index.entries('absent')) {
    for (const [, value] of entries) {
      const { studentId, fromMs, toMs } = decodeAbsent(value);
      if (dateAt(fromMs) <= to && dateAt(toMs) >= from) students.add(studentId);
    }
  }
  return students;
}
