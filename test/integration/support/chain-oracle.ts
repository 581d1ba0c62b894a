import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { problemsOfStep, type AbsenceStep } from './absence-steps.ts';
import { compactedView, type TopicRecord } from './read-topics.ts';

type Row = Readonly<Record<string, unknown>>;

/** One event of `absence-changes`, as a consumer decodes it. */
export interface LoggedChange extends AbsenceStep {
  readonly absenceId: string;
  readonly snapshot: boolean;
  /** The student of `version`. */
  readonly studentId: string | null;
}

export function loggedChanges(records: readonly TopicRecord[]): LoggedChange[] {
  return records.flatMap(({ value }) => {
    if (value === null) return [];
    const change: Row = value;
    return [
      {
        absenceId: String(change['absenceId']),
        step: Number(change['step']),
        operation: String(change['operation']),
        versionId: idOf(change['version']) ?? '',
        previousId: idOf(change['previousVersion']),
        snapshot: change['snapshot'] === true,
        cause: String(change['cause']),
        mergedInto: (change['mergedInto'] as string | null) ?? null,
        studentId: studentIn(change['version']),
      },
    ];
  });
}

/**
 * Problems of `absences` and `absence-changes`, compared by the contract alone with a hub whose chains are sound (spec 3).
 * Empty when there are none.
 */
export function chainProblems(options: {
  hub: ReferenceHub;
  absences: readonly TopicRecord[];
  changes: readonly TopicRecord[];
}): string[] {
  const rows = new Map(
    options.hub.district.snapshot('absence-versions').map((row) => [idOf(row) ?? '', row]),
  );
  const problems: string[] = [];
  const expected = new Map<string, { path: string[]; isDeleted: boolean }>();
  for (const [id, row] of rows) {
    if (idOf(row['replacedBy']) !== null && rows.has(idOf(row['replacedBy']) ?? '')) continue;
    const path = pathTo(id, rows);
    const isDeleted = typeof row['deletedTime'] === 'string' && row['deletedTime'] !== '';
    expected.set(path[0] ?? id, { path, isDeleted });
  }
  const view = compactedView(options.absences);
  for (const [absenceId, { path, isDeleted }] of expected) {
    const shown = view.get(absenceId)?.value ?? null;
    const tail = path.at(-1);
    if (isDeleted ? shown !== null : idOf(shown) !== tail) {
      problems.push(
        `absences ${absenceId}: shows ${idOf(shown) ?? 'nothing'}, the tail is ${tail}${isDeleted ? ' (deleted)' : ''}`,
      );
    }
  }
  for (const [key, { value }] of view) {
    if (value !== null && !expected.has(key)) problems.push(`absences ${key}: not at the hub`);
  }
  problems.push(...studentProblems(options));
  return [...problems, ...historyProblems(options.changes, expected)].slice(0, 10);
}

/** Invariant 11: no two students' records stand under one absence id, of hubs that never give a record to another. */
export function studentProblems(options: {
  absences: readonly TopicRecord[];
  changes: readonly TopicRecord[];
}): string[] {
  const students = new Map<string, Set<string>>();
  const note = (key: string, studentId: string | null): void => {
    if (studentId !== null) students.set(key, (students.get(key) ?? new Set()).add(studentId));
  };
  for (const { key, value } of options.absences) note(key, studentIn(value));
  for (const { absenceId, studentId } of loggedChanges(options.changes)) note(absenceId, studentId);
  return [...students].flatMap(([key, { size }]) =>
    size > 1 ? [`absence ${key}: holds records of ${size} students`] : [],
  );
}

/** The events of each absence publish its versions in order, each once, and then its deletion. */
function historyProblems(
  records: readonly TopicRecord[],
  expected: ReadonlyMap<string, { path: readonly string[]; isDeleted: boolean }>,
): string[] {
  const problems: string[] = [];
  const published = Map.groupBy(loggedChanges(records), ({ absenceId }) => absenceId);
  for (const [absenceId, changes] of published) {
    for (const [at, change] of changes.entries()) {
      const found = problemsOfStep(change, changes[at - 1]);
      problems.push(...found.map((why) => `changes ${absenceId}: ${why}`));
    }
  }
  for (const [absenceId, { path, isDeleted }] of expected) {
    const changes = published.get(absenceId) ?? [];
    const versions = changes
      .filter(({ operation }) => operation !== 'DELETED')
      .map(({ versionId }) => versionId);
    if (versions.join(' ') !== path.join(' ')) {
      problems.push(
        `changes ${absenceId}: publish ${versions.join(' ') || 'nothing'}, the chain is ${path.join(' ')}`,
      );
    }
    const operations = changes.map(({ operation }) => operation);
    const wanted = ['CREATED', ...path.slice(1).map(() => 'REPLACED'), ...(isDeleted ? ['DELETED'] : [])];
    if (operations.join(' ') !== wanted.join(' ')) {
      problems.push(`changes ${absenceId}: ${operations.join(' ')} instead of ${wanted.join(' ')}`);
    }
  }
  return problems;
}

function pathTo(tail: string, rows: ReadonlyMap<string, Row>): string[] {
  const path = [tail];
  for (
    let id = idOf(rows.get(tail)?.['replaces']);
    id !== null && rows.has(id);
    id = idOf(rows.get(id)?.['replaces'])
  ) {
    path.unshift(id);
  }
  return path;
}

function studentIn(version: unknown): string | null {
  return typeof version === 'object' && version !== null ? idOf((version as Row)['student']) : null;
}

function idOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const id = (value as Row)['sourcedId'];
  return typeof id === 'string' ? id : null;
}
