import type { Violation } from './protocol.ts';

/** The results of a run so far. */
export interface Tally {
  readonly histories: Map<string, number>;
  readonly happened: Map<string, number>;
  readonly violations: Violation[];
}

const PROBLEMS_SHOWN = 8;
const SHOWN_VIOLATIONS = 20;

function totalOf(histories: ReadonlyMap<string, number>): number {
  return [...histories.values()].reduce((sum, count) => sum + count, 0);
}

/** `elapsedMs`: since the histories began. */
export function progressLine({ histories, violations }: Tally, elapsedMs: number, workers: number): string {
  const total = totalOf(histories);
  const perMinute = elapsedMs === 0 ? 0 : Math.round((total * 60_000) / elapsedMs);
  const seconds = Math.round(elapsedMs / 1000);
  return `${seconds} s: ${total} histories, ${perMinute} a minute by ${workers} workers, ${countOf(violations.length, 'violation')}`;
}

export function violationLines({ kind, seed, problems }: Violation): string[] {
  const shown = problems.slice(0, PROBLEMS_SHOWN).map((problem) => `    ${problem}`);
  const more = problems.length > PROBLEMS_SHOWN ? [`    and ${problems.length - PROBLEMS_SHOWN} more`] : [];
  return [
    `  ${kind}, seed ${seed}: ${countOf(problems.length, 'problem')}`,
    ...shown,
    ...more,
    `    to see it again: npm run test:simulation -- --kind ${kind} --seed ${seed}`,
  ];
}

export function summaryLines(tally: Tally, elapsedMs: number, workers: number): string[] {
  return [
    'Histories by kind:',
    ...table(tally.histories),
    'What happened in them:',
    ...table(tally.happened),
    ...(tally.violations.length > 0 ? ['Violations:'] : []),
    ...tally.violations.slice(0, SHOWN_VIOLATIONS).flatMap(violationLines),
    ...(tally.violations.length > SHOWN_VIOLATIONS
      ? [`  and ${tally.violations.length - SHOWN_VIOLATIONS} more`]
      : []),
    progressLine(tally, elapsedMs, workers),
  ];
}

export interface TriedMutation {
  readonly name: string;
  readonly kind: string;
  readonly histories: number;
  readonly problem: string | null;
}

export function mutationLines(tried: readonly TriedMutation[]): string[] {
  const width = Math.max(...tried.map(({ name }) => name.length));
  const caught = tried.filter(({ problem }) => problem !== null).length;
  return [
    ...tried.map(({ name, kind, histories, problem }) => {
      const how =
        problem === null
          ? `NOT CAUGHT in ${histories}`
          : `after ${String(histories).padStart(3)}: ${problem.slice(0, LONGEST_PROBLEM)}`;
      return `${name.padEnd(width)}  ${kind.padEnd(LONGEST_KIND)}  ${how}`;
    }),
    `${caught} of ${tried.length} planted mistakes caught (${Math.round((100 * caught) / tried.length)} %)`,
  ];
}

const LONGEST_KIND = 31;
const LONGEST_PROBLEM = 100;

function table(counts: ReadonlyMap<string, number>): string[] {
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `  ${String(count).padStart(9)}  ${name}`);
}

function countOf(count: number, what: string): string {
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`;
}
