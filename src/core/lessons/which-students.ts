import type { CollectionName } from '../../model/collections.ts';

/** The students whose schedules are mirrored: absent ones, all, or these ids. */
export type WhichStudents = 'absent' | 'all' | readonly string[];

/** The collection that names these students; null for a list of ids. */
export function collectionOf(which: WhichStudents): CollectionName | null {
  if (which === 'absent') return 'absences';
  return which === 'all' ? 'students' : null;
}
