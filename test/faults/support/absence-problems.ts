import { problemsOfStep } from '../../integration/support/absence-steps.ts';
import { studentProblems, loggedChanges, type LoggedChange } from '../../integration/support/chain-oracle.ts';
import { compactedView, type TopicRecord } from '../../integration/support/read-topics.ts';
import type { HubState, Row } from './hub-history.ts';
import { where } from './row-problems.ts';

/**
 * Where the order of `absences` and `absence-changes` contradicts the versions that the hub ever had. This includes chains
 * that have left since, about which the hub itself no longer says anything.
 */
export function absenceProblems(options: {
  absences: readonly TopicRecord[];
  changes: readonly TopicRecord[];
  versions: ReadonlyMap<string, readonly HubState[]>;
  /** The versions that Rollcall has read: the id of an absence is the oldest of them. A chain may leave while it is read. */
  read: ReadonlySet<string>;
}): string[] {
  const replaces = new Map<string, string | null>();
  for (const [id, states] of options.versions) {
    const row = states.findLast((state) => state.row !== null)?.row ?? null;
    replaces.set(id, idIn(row?.['replaces']));
  }
  const problems: string[] = [];
  for (const [key, records] of Map.groupBy(options.absences, (record) => record.key)) {
    const problem = problemOfCurrent(key, { records, replaces, read: options.read });
    if (problem !== null) problems.push(`absences ${key}: ${problem}`);
  }
  for (const [key, records] of Map.groupBy(options.changes, (record) => record.key)) {
    const problem = problemOfSteps(records, replaces);
    if (problem !== null) problems.push(`absence-changes ${key}: ${problem}`);
  }
  return [...problems, ...studentProblems(options), ...snapshotProblems(options.changes)];
}

/**
 * For changes of which some were cut off, or removed by compaction: only the last one of each absence must be there. Where
 * `absences` shows a version, it must be of that version.
 */
export function lastStepProblems(options: {
  absences: readonly TopicRecord[];
  changes: readonly TopicRecord[];
}): string[] {
  const last = new Map(loggedChanges(options.changes).map((change) => [change.absenceId, change]));
  const problems: string[] = [];
  for (const [key, { value }] of compactedView(options.absences)) {
    const published = last.get(key);
    const isPublished = published?.operation !== 'DELETED' && published?.versionId === idOf(value ?? {});
    if (!isPublished)
      problems.push(`absence-changes ${key}: the last step is not of the version that absences shows`);
  }
  return problems;
}

type Replaces = ReadonlyMap<string, string | null>;

/** `absences` shows tails of this chain, each later than the one before. */
function problemOfCurrent(
  key: string,
  {
    records,
    replaces,
    read,
  }: { records: readonly TopicRecord[]; replaces: Replaces; read: ReadonlySet<string> },
): string | null {
  let before = -1;
  for (const record of records) {
    if (record.value === null) continue;
    const id = idOf(record.value);
    const path = id === null ? [] : pathTo(id, replaces);
    if (path.find((each) => read.has(each)) !== key)
      return `shows a version of another chain: ${where(record)}, ${path.join(' → ')}`;
    if (path.length - 1 < before) return `an older version after a newer one: ${where(record)}`;
    before = path.length - 1;
  }
  return null;
}

function problemOfSteps(records: readonly TopicRecord[], replaces: Replaces): string | null {
  const end = records.findIndex(({ value }) => value === null);
  if (end !== -1 && end !== records.length - 1) return 'goes on after it was forgotten';
  const changes = loggedChanges(records);
  const deletions = changes.filter(({ operation }) => operation === 'DELETED').length;
  if (deletions > 1) return `is deleted ${deletions} times`;
  for (const [at, change] of changes.entries()) {
    const problem = problemOfStep(change, { before: changes[at - 1], replaces });
    if (problem !== undefined) return problem;
  }
  return null;
}

/** The hub restores nothing and its chains are sound, so a version follows only from the one that it replaces. */
function problemOfStep(
  change: LoggedChange,
  { before, replaces }: { before: LoggedChange | undefined; replaces: Replaces },
): string | undefined {
  const [problem] = problemsOfStep(change, before);
  if (problem !== undefined) return problem;
  if (before?.operation === 'DELETED') return `step ${change.step} comes after the deletion`;
  const isNewVersion = change.operation !== 'DELETED' && before !== undefined;
  return isNewVersion && replaces.get(change.versionId) !== before.versionId
    ? `step ${change.step} does not follow from the one before`
    : undefined;
}

/** Snapshots are published only before the first complete full sync. */
function snapshotProblems(records: readonly TopicRecord[]): string[] {
  const problems: string[] = [];
  for (const [partition, inOrder] of Map.groupBy(records, (record) => record.partition)) {
    let isOver = false;
    for (const [change] of inOrder.map((record) => loggedChanges([record]))) {
      if (change === undefined) continue;
      if (change.snapshot && isOver) {
        problems.push(`absence-changes/${partition}: a snapshot after the first complete full sync`);
        break;
      }
      isOver ||= !change.snapshot;
    }
  }
  return problems;
}

function pathTo(id: string, replaces: Replaces): string[] {
  const path = [id];
  for (let at = replaces.get(id) ?? null; at !== null; at = replaces.get(at) ?? null) path.unshift(at);
  return path;
}

function idOf(value: Row): string | null {
  return typeof value['sourcedId'] === 'string' ? value['sourcedId'] : null;
}

function idIn(reference: unknown): string | null {
  return typeof reference === 'object' && reference !== null ? idOf(reference as Row) : null;
}
