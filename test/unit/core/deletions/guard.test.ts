import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { whyHeld } from '../../../../src/core/deletions/guard.ts';

const LIMITS = { rows: 50, ratio: 0.05 };

describe('the guard', () => {
  it.each([
    // The limits are more than 50 rows and more than 5 %.
    { missing: 51, known: 1_000, held: true },
    { missing: 50, known: 900, held: false },
    { missing: 51, known: 1_020, held: false },
    { missing: 51, known: 1_019, held: true },
    { missing: 1_000, known: 20_000, held: false },
    { missing: 1_001, known: 20_000, held: true },
    // Half of five or more rows is too much.
    { missing: 3, known: 5, held: true },
    { missing: 2, known: 5, held: false },
    { missing: 49, known: 98, held: true },
    { missing: 48, known: 98, held: false },
    { missing: 3, known: 4, held: false },
    // All rows are too much.
    { missing: 1, known: 1, held: true },
    { missing: 4, known: 4, held: true },
    { missing: 0, known: 0, held: false },
  ])('$missing of $known: held $held', ({ missing, known, held }) => {
    expect(whyHeld({ missing, known, removedToday: 0 }, LIMITS) !== null).toBe(held);
  });

  it('counts the removals of the day, so that a mass deletion cannot come in slices', () => {
    expect(whyHeld({ missing: 30, known: 970, removedToday: 0 }, LIMITS)).toBeNull();
    expect(whyHeld({ missing: 30, known: 970, removedToday: 30 }, LIMITS)).toBe(
      '60 of 1000 rows today are missing, more than 50 and more than 5 %',
    );
  });

  it('never lets more rows go when more are missing', () => {
    const count = fc.nat({ max: 3_000 });
    fc.assert(
      fc.property(count, count, count, count, (missing, more, known, removedToday) => {
        fc.pre(missing > 0 && known > 0);
        const held = whyHeld({ missing, known, removedToday }, LIMITS);
        const heldWithMore = whyHeld({ missing: missing + more, known, removedToday }, LIMITS);
        expect(held === null || heldWithMore !== null).toBe(true);
      }),
    );
  });
});
