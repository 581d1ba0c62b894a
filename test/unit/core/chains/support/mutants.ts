import type { ChainRow, VersionEntry } from '../../../../../src/core/chains/chain-state.ts';
import { resolve, type Resolution, type ResolveInput } from '../../../../../src/core/chains/chain-rules.ts';
import type { ChainStep } from '../../../../../src/core/chains/chain-steps.ts';
import type { Resolve } from './chain-shell.ts';

export interface Mutant {
  readonly name: string;
  readonly world: 'orderly' | 'contradictory';
  readonly resolve: Resolve;
}

/** Broken resolvers, made from the right one by changing its input or its output. */
export const MUTANTS: readonly Mutant[] = [
  outcome('publishes only the last of several steps', (result) => ({
    ...result,
    steps: [...Map.groupBy(result.steps, ({ absenceId }) => absenceId).values()].flatMap((all) =>
      all.slice(-1),
    ),
  })),
  outcome('publishes a replacement twice', (result) => ({
    ...result,
    steps: result.steps.flatMap((step) => (step.operation === 'REPLACED' ? [step, step] : [step])),
  })),
  outcome('publishes the steps in reverse', (result) => ({ ...result, steps: result.steps.toReversed() })),
  outcome('never publishes a deletion', (result) =>
    without(result, ({ operation }) => operation === 'DELETED'),
  ),
  outcome('forgets which version came before', (result) => ({
    ...result,
    steps: result.steps.map((step) => ({ ...step, previousVersionId: null })),
  })),
  outcome('does not remember what it published', (result) => ({ ...result, absences: new Map() })),
  outcome('leaves what was deleted in `absences`', (result) => ({
    ...result,
    currents: result.currents.filter(({ versionId }) => versionId !== null),
  })),
  outcome('does not show a replacement in `absences`', (result) => {
    const created = new Set(
      result.steps.filter(({ operation }) => operation === 'CREATED').map(({ absenceId }) => absenceId),
    );
    return { ...result, currents: result.currents.filter(({ absenceId }) => created.has(absenceId)) };
  }),
  outcome('publishes a row again that came again', (result) => ({
    ...result,
    steps: [...result.steps, ...result.currents.flatMap((current) => repeated(result, current))],
  })),
  outcome('does not mark what must be resolved again', (result) => ({
    ...result,
    versions: changed(result, (entry) => ({ ...entry, isResolved: true })),
  })),
  outcome('does not remember that a version is deleted', (result) => ({
    ...result,
    versions: changed(result, (entry) => ({ ...entry, isDeleted: false })),
  })),
  outcome('does not remember who refers to a version', (result) => ({
    ...result,
    versions: changed(result, (entry) => ({ ...entry, linkedFrom: [] })),
  })),
  outcome('counts steps from 0', (result) => ({
    ...result,
    steps: result.steps.map((step) => ({ ...step, step: step.step - 1 })),
  })),
  input('never looks again at pending chains', (given) => ({ ...given, revisit: [] })),
  input('publishes pending chains at once', (given) => ({ ...given, mode: 'final' })),
  input('never publishes what stays pending', (given) => ({ ...given, mode: 'page' })),
  input('ignores that versions vanish', (given) => ({ ...given, vanished: [] })),
  input('forgets what vanished, as if it had never been known', (given) => ({
    ...given,
    vanished: given.vanished?.slice(1),
  })),
  input(
    'follows only `replaces`',
    (given) => rows(given, (row) => ({ ...row, replacedBy: null })),
    'contradictory',
  ),
  input('follows only `replacedBy`', (given) => rows(given, (row) => ({ ...row, replaces: null }))),
  input(
    'follows links to other students',
    (given) => rows(given, (row) => ({ ...row, studentId: null })),
    'contradictory',
  ),
  input('overlooks deletions', (given) => rows(given, (row) => ({ ...row, isDeleted: false }))),
  outcome(
    'keeps both of two merged absences',
    (result) => without(result, ({ cause }) => cause === 'MERGED'),
    'contradictory',
  ),
  outcome(
    'publishes what was restored as replaced',
    (result) => ({
      ...result,
      steps: result.steps.map((step) =>
        step.operation === 'RESTORED' ? { ...step, operation: 'REPLACED' as const } : step,
      ),
    }),
    'contradictory',
  ),
  {
    name: "publishes a record under another student's absence id",
    world: 'contradictory',
    resolve: (given) => {
      const result = resolve(given);
      return renamed(result, (step) => step.absenceId.includes('|'), withoutNumber);
    },
  },
  {
    name: 'names an absence by its last version',
    world: 'orderly',
    resolve: (given) => {
      const result = resolve(given);
      return renamed(
        result,
        (step) => step.operation === 'CREATED' && step.absenceId !== lastOf(result, step),
      );
    },
  },
];

function outcome(
  name: string,
  change: (result: Resolution) => Resolution,
  world: Mutant['world'] = 'orderly',
): Mutant {
  return { name, world, resolve: (given) => change(resolve(given)) };
}

function input(
  name: string,
  change: (given: ResolveInput) => ResolveInput,
  world: Mutant['world'] = 'orderly',
): Mutant {
  return { name, world, resolve: (given) => resolve(change(given)) };
}

function without(result: Resolution, isDropped: (step: ChainStep) => boolean): Resolution {
  const dropped = new Set(result.steps.filter(isDropped).map(({ absenceId }) => absenceId));
  return {
    ...result,
    steps: result.steps.filter((step) => !isDropped(step)),
    currents: result.currents.filter(
      ({ absenceId, versionId }) => versionId !== null || !dropped.has(absenceId),
    ),
  };
}

function rows(given: ResolveInput, change: (row: ChainRow) => ChainRow): ResolveInput {
  return { ...given, rows: given.rows.map((row) => change(row)) };
}

function changed(
  result: Resolution,
  change: (entry: VersionEntry) => VersionEntry,
): Map<string, VersionEntry | null> {
  return new Map([...result.versions].map(([id, entry]) => [id, entry === null ? null : change(entry)]));
}

function repeated(result: Resolution, current: Resolution['currents'][number]): ChainStep[] {
  const { absenceId, versionId } = current;
  if (versionId === null || result.steps.some((step) => step.absenceId === absenceId)) return [];
  const operation = 'REPLACED';
  return [
    { absenceId, step: 2, operation, versionId, previousVersionId: null, cause: 'HUB', mergedInto: null },
  ];
}

function lastOf(result: Resolution, { absenceId }: ChainStep): string {
  return result.steps.findLast((step) => step.absenceId === absenceId)?.versionId ?? absenceId;
}

function withoutNumber(_result: Resolution, { absenceId }: ChainStep): string {
  return absenceId.replace(/\|absence-\d+$/u, '');
}

function renamed(
  result: Resolution,
  isRenamed: (step: ChainStep) => boolean,
  newName: (result: Resolution, step: ChainStep) => string = lastOf,
): Resolution {
  const names = new Map(
    result.steps.filter((step) => isRenamed(step)).map((step) => [step.absenceId, newName(result, step)]),
  );
  const nameOf = (id: string): string => names.get(id) ?? id;
  return {
    ...result,
    versions: changed(result, (entry) => ({
      ...entry,
      absenceId: entry.absenceId === null ? null : nameOf(entry.absenceId),
    })),
    absences: new Map([...result.absences].map(([id, entry]) => [nameOf(id), entry])),
    steps: result.steps.map((step) => ({ ...step, absenceId: nameOf(step.absenceId) })),
    currents: result.currents.map((one) => ({ ...one, absenceId: nameOf(one.absenceId) })),
  };
}
