import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { whyHeld } from '../../../../src/core/deletions/guard.ts';

const LIMITS = { rows: 50, ratio: 0.05 };

describe('the guard', () => {
  const isHeld = ([missing, known]: readonly [number, number]): boolean =>
    whyHeld({ missing, known, removedToday: 0 }, LIMITS) !== null;

  it('holds more than 50 rows and more than 5 %, half of five or more, and all; and lets fewer go', () => {
    const held = [
      [51, 1_000],
      [51, 1_019],
      [1_001, 20_000],
      [3, 5],
      [49, 98],
      [1, 1],
      [4, 4],
    ] as const;
    const free = [
      [50, 900],
      [51, 1_020],
      [1_000, 20_000],
      [2, 5],
      [48, 98],
      [3, 4],
      [0, 0],
    ] as const;
    expect(held.filter((each) => !isHeld(each))).toEqual([]);
    expect(free.filter(isHeld)).toEqual([]);
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
