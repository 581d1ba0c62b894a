import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import type { PublishedLog } from './published-log.ts';

/** By version: every student that its published records named. */
export function studentsOfVersions(log: PublishedLog): ReadonlyMap<string, ReadonlySet<string>> {
  const students = new Map<string, Set<string>>();
  for (const { key, value } of log.versions) {
    const id = studentOf(value);
    if (id !== null) students.set(key, (students.get(key) ?? new Set()).add(id));
  }
  return students;
}

/**
 * Invariant 11: no two students' records stand under one absence id, in `absences`, in `absence-changes`, or inside one
 * event, until its key is nulled.
 */
export function problemsOfStudents(log: PublishedLog): string[] {
  const problems: string[] = [];
  const shown = new Map<string, string | null>();
  const take = (key: string, record: AbsenceVersionValue, where: string): void => {
    const before = shown.get(key) ?? null;
    const after = studentOf(record);
    if (before !== null && after !== null && before !== after)
      problems.push(`records of two students under one absence id: ${key} in ${where}`);
    shown.set(key, after ?? before);
  };
  const inOrder = [
    ...log.changes.map((record) => ({ ...record, topic: 'absence-changes' as const })),
    ...log.absences.map((record) => ({ ...record, topic: 'absences' as const })),
  ].sort((one, other) => one.transaction - other.transaction);
  for (const record of inOrder) {
    const { key, transaction } = record;
    const where = `transaction ${transaction}`;
    if (record.topic === 'absences') {
      if (record.value !== null) take(key, record.value, where);
      continue;
    }
    if (record.value === null) {
      shown.delete(key);
      continue;
    }
    const { version, previousVersion } = record.value;
    take(key, version, where);
    const [one, other] = [studentOf(version), studentOf(previousVersion)];
    if (one !== null && other !== null && one !== other)
      problems.push(`records of two students in one event: ${key} in ${where}`);
  }
  return problems;
}

function studentOf(value: AbsenceVersionValue | null): string | null {
  return value?.student?.sourcedId ?? null;
}
