import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { whyHold } from '../../../../src/core/deletions/guard.ts';
import { forAll } from '../../support/for-all.ts';

const LIMITS = { rows: 50, ratio: 0.05 };
const why = (missing: number, known: number, removedToday = 0) =>
  whyHold({ missing, known, removedToday }, LIMITS);

it.each([
  [51, 1000],
  [51, 1019],
  [1001, 20_000],
  [3, 5],
  [49, 98],
  [1, 1],
  [4, 4],
])('%i missing rows of %i are put on hold: half, all, or over 50 and 5 %%', (missing, known) => {
  expect(why(missing, known)).not.toBeNull();
});

it.each([
  [50, 900],
  [51, 1020],
  [1000, 20_000],
  [2, 5],
  [48, 98],
  [3, 4],
  [0, 0],
])('%i missing rows of %i are not put on hold', (missing, known) => {
  expect(why(missing, known)).toBeNull();
});

it('the guard counts the removals of the day, so that a mass deletion cannot come in slices', () => {
  expect(why(30, 970)).toBeNull();
  expect(why(30, 970, 30)).toBe('60 of 1,000 rows today are missing, more than 50 and more than 5 %');
  const count = fc.nat({ max: 3_000 });
  const some = fc.integer({ min: 1, max: 3_000 });
  forAll([some, count, some, count], (missing, more, known, removedToday) => {
    expect(
      why(missing, known, removedToday) === null || why(missing + more, known, removedToday) !== null,
    ).toBe(true);
  });
});
