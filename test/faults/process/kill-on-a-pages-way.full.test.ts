import { describe, it } from 'vitest';
import { PAGE_POINTS } from '../support/points.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { expectSurvives } from '../support/survive.ts';

describe.each(ROUNDS)('kill -9 while a page is processed, round %i', (round) => {
  it.each(PAGE_POINTS)('%s: nothing is lost or published twice', async (point) => {
    await expectSurvives(point, { seed: round, nth: 2 + round * 3 });
  });
});
