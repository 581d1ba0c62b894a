import { decodeAbsent } from '../core/absences/absent-entry.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import type { AbsentStudents } from './absent-students.ts';

export interface AbsentIndex extends AbsentStudents {
  /** Called after a commit that changed current absences of these students. */
  changed(students: ReadonlySet<string>): void;
}

/**
 * Tells which students are absent, from the index of absences. It covers absences that end within or after the window of
 * schedules.
 */
export function createAbsentIndex(options: {
  /** The index of `absence-versions`. */
  index: Pick<CollectionIndex, 'entries'>;
  /** The date `YYYY-MM-DD` of an instant (ms since the epoch) in the tenant's time zone. */
  dateAt: (ms: number) => string;
}): AbsentIndex {
  const { index, dateAt } = options;
  const listeners = new Set<(students: ReadonlySet<string>) => void>();
  return {
    async *between(from, to) {
      for await (const entries of index.entries('absent')) {
        const students = new Set<string>();
        for (const [, value] of entries) {
          const { studentId, fromMs, toMs } = decodeAbsent(value);
          if (dateAt(fromMs) <= to && dateAt(toMs) >= from) students.add(studentId);
        }
        if (students.size > 0) yield [...students];
      }
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed(students) {
      if (students.size > 0) for (const listener of listeners) listener(students);
    },
  };
}
