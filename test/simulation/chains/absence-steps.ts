/** An event of `absence-changes`, as far as its place among the events of its absence goes. */
export interface AbsenceStep {
  readonly step: number;
  readonly operation: string;
  readonly cause: string;
  readonly versionId: string;
  readonly previousId: string | null;
  readonly mergedInto: string | null;
}

/** Problems of an event after the one before it, that no reader of `absence-changes` may ever meet, whatever the hub does. */
export function problemsOfStep(change: AbsenceStep, before: AbsenceStep | undefined): string[] {
  const problems: string[] = [];
  const { operation, step, cause, versionId, previousId, mergedInto } = change;
  const what = `${operation} ${step}`;
  if (step !== (before?.step ?? 0) + 1) problems.push(`step ${step} after ${before?.step ?? 'none'}`);
  if (!operationsAfter(before).includes(operation)) problems.push(`${what} cannot follow`);
  if (operation === 'REPLACED' && versionId === before?.versionId)
    problems.push(`${what}: replaced by itself`);
  if ((cause === 'MERGED') !== (mergedInto !== null))
    problems.push(`${what}: mergedInto does not fit the cause`);
  const expected = before === undefined || before.versionId === versionId ? null : before.versionId;
  if (previousId !== expected)
    problems.push(
      `${what}: previousVersion is ${previousId ?? 'null'}, ${expected ?? 'nothing'} came before`,
    );
  return problems;
}

function operationsAfter(before: AbsenceStep | undefined): readonly string[] {
  if (before === undefined) return ['CREATED'];
  return before.operation === 'DELETED' ? ['RESTORED'] : ['REPLACED', 'DELETED'];
}
