import { shortDigest } from './content-hash.ts';
import type { DecodedRow } from './decoded-row.ts';
import { isJsonObject } from './raw-json.ts';
import { rejectWithoutRow } from './unreadable-row.ts';

/** Value of a record in `class-students` (contract): the students' ids, sorted. */
export interface ClassStudents {
  readonly classId: string;
  readonly students: readonly string[];
}

/**
 * The students of a class, from the rows of `classes/{id}/students`. If one student has no readable id, the list is
 * unreadable: a shorter list would be wrong.
 */
export function readClassStudents(classId: string, rows: readonly unknown[]): DecodedRow {
  const students: string[] = [];
  for (const row of rows) {
    const id = isJsonObject(row) ? row['sourcedId'] : null;
    if (typeof id !== 'string' || id === '' || !id.isWellFormed())
      return rejectWithoutRow(classId, 'students: an element has no sourcedId that is a text');
    students.push(id);
  }
  const value: ClassStudents = { classId, students: [...new Set(students)].sort() };
  return { kind: 'row', sourcedId: classId, value, hash: classStudentsHash(value), modifiedAtMs: null };
}

/** The content hash (16 bytes) that a value read back from a record must have. */
export function classStudentsHash({ classId, students }: ClassStudents): Buffer {
  return shortDigest(JSON.stringify({ classId, students }));
}
