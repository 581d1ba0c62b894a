import type { WhichStudents } from '../../core/schedules/which-students.ts';
import type { AbsentStudents } from '../../absences/absent-students.ts';
import type { DayWindow } from '../../core/lessons/window.ts';

export interface WantedParts {
  readonly which: WhichStudents;
  readonly absent: AbsentStudents;
  /** Ids of all known students, in batches. */
  readonly allStudents: () => AsyncIterable<readonly string[]>;
}

/** The wanted students; those with an absence in the window come first. */
export async function wantedStudents(parts: WantedParts, window: DayWindow): Promise<Set<string>> {
  const { which, absent } = parts;
  const candidates =
    which === 'absent' ? null : await gather(which === 'all' ? parts.allStudents() : [which]);
  const wanted = new Set<string>();
  for await (const batch of absent.between(window.from, window.to)) {
    for (const student of batch) if (candidates === null || candidates.delete(student)) wanted.add(student);
  }
  // Sorted, so that each student's turn is at the same time each day.
  for (const student of [...(candidates ?? [])].sort()) wanted.add(student);
  return wanted;
}

async function gather(
  batches: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
): Promise<Set<string>> {
  const all = new Set<string>();
  for await (const batch of batches) for (const student of batch) all.add(student);
  return all;
}
