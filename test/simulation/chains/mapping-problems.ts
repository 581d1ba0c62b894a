import { STATE_TOPIC } from '../../../src/model/collections.ts';
import type { Row } from '../../oracle/history.ts';
import { decodeBody } from '../tenants/evidence.ts';
import { hidesStudent, holdsStudent, studentBehind } from './mappings.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';

/** Invariant 12: everything that a process published has passed the mapping that it was started with. */
export function problemsOfMapping({ mappings, broker, copiedStudents }: MirroredAbsences): string[] {
  const topics = ['absence-versions', 'absences', 'absence-changes', STATE_TOPIC] as const;
  const shown = topics.flatMap((topic) =>
    broker.recordsOf(topic).flatMap(({ key, body, transaction }) => {
      const mapping = mappings[broker.transactions[transaction]?.by ?? 0];
      if (mapping === undefined || body === null) return [];
      const value = topic === STATE_TOPIC ? {} : decodeBody(topic, body);
      const fields = [value, value['version'], value['previousVersion']].flatMap((each) => {
        const row = (each ?? {}) as Row;
        const student = (row['student'] as Row | null | undefined)?.['sourcedId'] as string | undefined;
        const isRaw = student !== undefined && studentBehind(student) === student;
        const dropped = mapping.drop.filter((name) => (row[name] ?? null) !== null);
        return dropped.concat(hidesStudent(mapping) && isRaw ? ['student'] : []);
      });
      if (topic === STATE_TOPIC && hidesStudent(mapping) && holdsStudent(body)) fields.push('student');
      return fields.map((name) => `${name}: ${topic} ${key} in transaction ${transaction}`);
    }),
  );
  return [...shown, ...copiedStudents.map((entry) => `student: ${entry} of a rebuilt index`)].map(
    (what) => `the mapping in force shows no ${what}`,
  );
}
