import { describe, expect, it } from 'vitest';
import { CHAIN_MISTAKES } from './chains/chain-mistakes.ts';
import {
  playChainHistory,
  type ChainHistoryKind,
  type ChainMistake,
  type ChainWorld,
} from './chains/chain-history.ts';
import { problemsOfChains } from './chains/chain-problems.ts';

/*
 * Whole random histories of absence chains, each repeated by its seed: see chains/chain-history.ts.
 * ROLLCALL_HISTORIES_MS: for how long new seeds are played besides the fixed ones, for all kinds together.
 */

/** The history of a seed changes with the code under test. */
const FIXED_SEEDS = [2, 8, 14, 21, 30_099, 50_194, 50_343, 60_059, 70_263, 80_322];
const BUDGET_MS = Number(process.env['ROLLCALL_HISTORIES_MS'] ?? 4_000);
/** A planted mistake does not show in every history. */
const MISTAKE_SEEDS = 40;
const TIMEOUT_MS = (Number.isFinite(BUDGET_MS) ? BUDGET_MS : 0) + 60_000;

const KINDS: readonly ChainHistoryKind[] = [
  { chains: 'sound', troubles: 'restarts' },
  { chains: 'sound', troubles: 'take-overs' },
  { chains: 'contradictory', troubles: 'restarts' },
  { chains: 'contradictory', troubles: 'take-overs' },
];

/** The fixed seeds of every kind must include each of these. */
const MUST_HAPPEN = [
  'commit-failed',
  'session-failed',
  'sync-failed',
  'index flushed',
  'index restored',
  'current',
  'resumed',
  'rebuilt',
  'rows removed',
  'created',
  'replaced',
  'deleted',
  'shown',
  'hidden',
];
const MUST_HAPPEN_SOMEWHERE = ['restored', 'forgotten', 'absences switched on'];

interface Played {
  readonly problems: readonly string[];
  readonly happened: ReadonlyMap<string, number>;
}

async function play(seed: number, kind: ChainHistoryKind, mistake?: ChainMistake): Promise<Played> {
  const problems: string[] = [];
  let happened: ChainWorld['happened'] = new Map();
  try {
    await playChainHistory({ seed, kind, mistake }, (world) => {
      problems.push(...problemsOfChains(world));
      ({ happened } = world);
    });
  } catch (error) {
    problems.push(`the history did not end well: ${error instanceof Error ? error.message : typeof error}`);
  }
  return { problems, happened };
}

async function expectNoProblem(seed: number, kind: ChainHistoryKind): Promise<Played> {
  const played = await play(seed, kind);
  const name = `${kind.chains} chains, ${kind.troubles}`;
  expect(played.problems, `seed ${seed} of ${name}: add it to the fixed seeds to see it again`).toEqual([]);
  return played;
}

const happenedSomewhere = new Set<string>();

describe.each(KINDS)('a history of $chains chains with $troubles', (kind) => {
  it(
    'ends with absences equal to the hub, and each step is published exactly once, correctly and in time',
    async () => {
      if (!Number.isFinite(BUDGET_MS)) throw new Error('ROLLCALL_HISTORIES_MS is not a number');
      const happened = new Set<string>();
      for (const seed of FIXED_SEEDS) {
        const played = await expectNoProblem(seed, kind);
        for (const [what, times] of played.happened) if (times > 0) happened.add(what);
      }
      // Histories in which nothing goes wrong prove nothing.
      expect(MUST_HAPPEN.filter((what) => !happened.has(what))).toEqual([]);
      for (const what of happened) happenedSomewhere.add(what);
      const startedAtMs = Date.now();
      const firstSeed = startedAtMs % 1_000_000_000;
      let seed = firstSeed;
      for (; Date.now() - startedAtMs < BUDGET_MS / KINDS.length; seed += 1)
        await expectNoProblem(seed, kind);
      process.stdout.write(`${kind.chains} chains, ${kind.troubles}: seeds ${firstSeed} to ${seed - 1}\n`);
    },
    TIMEOUT_MS,
  );
});

describe('the histories of chains together', () => {
  it('include each rare fate of a chain', () => {
    expect(MUST_HAPPEN_SOMEWHERE.filter((what) => !happenedSomewhere.has(what))).toEqual([]);
  });
});

describe('the checks of a history of chains', () => {
  it.each(CHAIN_MISTAKES)(
    'notice that $name',
    async ({ kind, finds, mistake }) => {
      const found = new Set<string>();
      for (let seed = 1; seed <= MISTAKE_SEEDS && !isAmong(found, finds); seed += 1) {
        for (const problem of (await play(seed, kind, mistake)).problems) found.add(problem);
      }
      expect([...found]).toContainEqual(expect.stringContaining(finds));
    },
    TIMEOUT_MS,
  );
});

function isAmong(problems: ReadonlySet<string>, part: string): boolean {
  return [...problems].some((problem) => problem.includes(part));
}
