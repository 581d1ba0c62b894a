import { hash } from 'node:crypto';
import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import { problemsOfStep, type AbsenceStep } from './absence-steps.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';
import { contentOfValue } from './hub-version.ts';
import { studentsOfVersions } from './student-problems.ts';
import type { LoggedChange, PublishedLog } from './published-log.ts';

/** What a consumer knows about one absence from its events alone. */
interface Believed {
  readonly last: AbsenceStep;
}

/** Problems that no reader of `absence-changes` may ever meet, however contradictory the hub is. */
export function problemsOfEvents(log: PublishedLog): string[] {
  const problems: string[] = [];
  const believed = new Map<string, Believed>();
  for (const change of log.changes) {
    const { key, value } = change;
    const what = `${key} in transaction ${change.transaction}`;
    const before = believed.get(key);
    if (value === null) {
      if (before === undefined) problems.push(`nulled, but never created: ${what}`);
      else if (before.last.operation !== 'DELETED') problems.push(`nulled, but not deleted: ${what}`);
      believed.delete(key);
      continue;
    }
    if (value.absenceId !== key) problems.push(`of another absence than its key: ${what}`);
    problems.push(...problemsOfStep(stepOf(value), before?.last).map((why) => `${why}: ${what}`));
    problems.push(...problemsOfHeaders(change).map((why) => `${why}: ${what}`));
    believed.set(key, { last: stepOf(value) });
  }
  return problems;
}

function stepOf({
  operation,
  step,
  cause,
  version,
  previousVersion,
  mergedInto,
}: AbsenceChangeValue): AbsenceStep {
  const [versionId, previousId] = [version.sourcedId, previousVersion?.sourcedId ?? null];
  return { operation, step, cause, versionId, previousId, mergedInto };
}

function problemsOfHeaders({ value, body, headers }: LoggedChange): string[] {
  if (value === null || body === null) return [];
  const problems: string[] = [];
  if (headers['ce_type'] !== `rollcall.absence.${value.operation.toLowerCase()}`) problems.push('ce_type');
  if (headers['content-hash'] !== hash('sha256', body, 'hex').slice(0, 32)) problems.push('content-hash');
  return problems;
}

/** The records of an event are the last published ones of their versions at its commit. */
export function problemsOfRecords(log: PublishedLog): string[] {
  const problems: string[] = [];
  const newest = new Map<string, string>();
  const students = studentsOfVersions(log);
  let at = 0;
  for (const { key, value, transaction } of log.changes) {
    for (; at < log.versions.length && (log.versions[at]?.transaction ?? 0) <= transaction; at += 1) {
      const version = log.versions[at];
      if (version?.content != null) newest.set(version.key, version.content);
    }
    if (value === null) continue;
    for (const record of [value.version, value.previousVersion]) {
      if (record === null) continue;
      const { sourcedId } = record;
      const what = `${sourcedId} in ${value.operation} ${value.step} of ${key} in transaction ${transaction}`;
      if ((record.fromTime ?? null) === null) {
        // Invariant 11: an event has only the id of a record that was given to another student.
        const isGiven = (students.get(sourcedId)?.size ?? 0) > 1;
        if (!isGiven && record === value.version) problems.push(`a bare id: ${what}`);
        continue;
      }
      const published = newest.get(sourcedId);
      if (published === undefined) problems.push(`published before the version itself: ${what}`);
      else if (published !== contentOfValue(record)) problems.push(`an outdated record: ${what}`);
    }
  }
  return problems;
}

/** Contract: true up to the transaction that completes the first full sync of chains, and false afterwards. */
export function problemsOfSnapshot({ broker }: MirroredAbsences, log: PublishedLog): string[] {
  const first = broker.transactions.findIndex(({ derived }) =>
    derived.some(
      ({ collection, complete, mode }) => collection === 'absence-changes' && complete && mode === 'FULL',
    ),
  );
  const last = first === -1 ? broker.transactions.length : first;
  return log.changes.flatMap(({ key, value, transaction }) =>
    value === null || value.snapshot === transaction <= last
      ? []
      : [
          `snapshot ${value.snapshot} in transaction ${transaction}, the first full sync ended in ${last}: ${key}`,
        ],
  );
}

/** Where the two topics disagree on the current version, after any transaction. */
export function problemsOfAgreement({ broker }: MirroredAbsences, log: PublishedLog): string[] {
  const problems: string[] = [];
  const shown = new Map<string, string>();
  const published = new Map<string, string | null>();
  const deleted = new Set<string>();
  let [change, absence, version] = [0, 0, 0];
  for (let at = 0; at < broker.transactions.length; at += 1) {
    const touched = new Set<string>();
    for (; log.versions[version]?.transaction === at; version += 1) {
      const record = log.versions[version];
      if (record?.value?.deletedTime != null) deleted.add(record.key);
      else if (record?.value != null) deleted.delete(record.key);
    }
    for (; log.changes[change]?.transaction === at; change += 1) {
      const record = log.changes[change];
      if (record === undefined) break;
      touched.add(record.key);
      const { value } = record;
      published.set(
        record.key,
        value === null || value.operation === 'DELETED' ? null : value.version.sourcedId,
      );
    }
    for (; log.absences[absence]?.transaction === at; absence += 1) {
      const record = log.absences[absence];
      if (record === undefined) break;
      touched.add(record.key);
      if (record.value === null) shown.delete(record.key);
      else shown.set(record.key, record.value.sourcedId);
    }
    for (const key of touched) {
      const [one, other] = [shown.get(key) ?? null, published.get(key) ?? null];
      // A deleted record is hidden at once, although its deletion may wait for an awaited id.
      const isHidden = one === null && deleted.has(other ?? '');
      if (one !== other && !isHidden)
        problems.push(
          `transaction ${at}: absences shows ${one ?? 'nothing'}, the events say ${other ?? 'nothing'}: ${key}`,
        );
    }
  }
  return problems;
}
