import type { CollectionName } from '../../model/collections.ts';

/** Whose schedules are mirrored: of those absent, of all, or of these (ids). */
export type WhichStudents = 'absent' | 'all' | readonly string[];

/** The collection that tells who they are; null for a list of ids. */
export function collectionOf(which: WhichStudents): CollectionName | null {
  if (which === 'absent') return 'absences';
  return which === 'all' ? 'students' : null;
}
