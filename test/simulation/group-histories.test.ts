import { describe, expect, it } from 'vitest';
import { playGroup } from './groups/group-history.ts';
import { GROUP_MISTAKES } from './groups/group-mistakes.ts';
import { firstCatch } from './run/first-catch.ts';

/* Random histories of processes that share tenants: see groups/group-history.ts. `npm run test:simulation` plays thousands. */

const FIXED_SEEDS = Array.from({ length: 20 }, (_, at) => at + 1);
/** A planted mistake does not show in every history. */
const MISTAKE_SEEDS = 60;

/** The fixed seeds must include each of these. */
const MUST_HAPPEN = [
  'join',
  'leave',
  'crash',
  'two crashes',
  'coordinator moves',
  'lease over',
  'with a fenced writer',
  'looks at two that believe they own a tenant',
];

describe('histories of workers that share tenants', () => {
  it('give each tenant to exactly one, move the fewest possible, leave none unserved for longer than promised, and no older writer commits after a newer', async () => {
    const happened = new Set<string>();
    for (const seed of FIXED_SEEDS) {
      const played = await playGroup(seed);
      const again = `npm run test:simulation -- --kind groups --seed ${seed} shows it again`;
      expect([again, played.problems]).toEqual([again, []]);
      for (const what of played.happened.keys()) happened.add(what);
    }
    // Histories in which nothing goes wrong prove nothing.
    expect(MUST_HAPPEN.filter((what) => !happened.has(what))).toEqual([]);
  });

  it('that are repeated by their seed are the same', async () => {
    expect(await playGroup(7)).toEqual(await playGroup(7));
  });
});

describe('the checks of such a history', () => {
  it.each(GROUP_MISTAKES)('notice that $name', async ({ name, finds, mistake }) => {
    const play = (seed: number): ReturnType<typeof playGroup> => playGroup(seed, mistake);
    const { problem } = await firstCatch({ name, kind: 'groups', finds, play }, MISTAKE_SEEDS);
    expect(problem).not.toBeNull();
  });
});
