import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import { STATE_TOPIC } from '../../../src/model/collections.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';
import { hidesStudent, holdsStudent, studentBehind } from './mappings.ts';
import type { PublishedLog } from './published-log.ts';

/** Invariant 12: everything that a process published has passed the mapping that it was started with. */
export function problemsOfMapping(
  { mappings, broker, copiedStudents }: MirroredAbsences,
  log: PublishedLog,
): string[] {
  const problems = copiedStudents.map(
    (entry) => `the mapping in force shows no student: ${entry} of a rebuilt index`,
  );
  const attempt = (value: AbsenceVersionValue | null, where: { key: string; transaction: number }): void => {
    const mapping = mappings[broker.transactions[where.transaction]?.by ?? 0];
    if (mapping === undefined || value === null) return;
    const fields = value as unknown as Readonly<Record<string, unknown>>;
    const shown = mapping.drop.filter((name) => (fields[name] ?? null) !== null);
    const student = value.student?.sourcedId;
    const isRaw = student !== undefined && studentBehind(student) === student;
    if (hidesStudent(mapping) && isRaw) shown.push('student');
    for (const name of shown)
      problems.push(
        `the mapping in force shows no ${name}: ${where.key} in transaction ${where.transaction}`,
      );
  };
  for (const record of [...log.versions, ...log.absences]) attempt(record.published, record);
  for (const { published, key, transaction } of log.changes) {
    for (const value of [published?.version, published?.previousVersion])
      attempt(value ?? null, { key, transaction });
  }
  for (const { key, body, transaction } of broker.recordsOf(STATE_TOPIC)) {
    const mapping = mappings[broker.transactions[transaction]?.by ?? 0];
    if (mapping !== undefined && hidesStudent(mapping) && body !== null && holdsStudent(body))
      problems.push(`the mapping in force shows no student: ${key} in transaction ${transaction}`);
  }
  return problems;
}
