import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { check, histories } from './support/history.ts';
import { MUTANTS } from './support/mutants.ts';

const SEED = 20_260_801;

describe('the checker of random histories', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'finds a resolver that %s',
    (_, mutant) => {
      const details = fc.check(
        fc.property(histories(mutant.world, 40), (history) => check(mutant.world, history, mutant.resolve)),
        { seed: SEED, numRuns: 2_000, endOnFailure: true },
      );
      expect(details.failed).toBe(true);
    },
  );
});
