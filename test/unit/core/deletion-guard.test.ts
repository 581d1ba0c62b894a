import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNotable, whyTogether, whyWithhold, type GuardLimits } from '../../../src/core/deletion-guard.ts';

const LIMITS: GuardLimits = { rows: 50, ratio: 0.05, perDay: true };

function isWithheld(
  deletions: number,
  knownRows: number,
  options: { earlier?: number; limits?: Partial<GuardLimits> } = {},
): boolean {
  const sync = { deletions, deletedEarlierToday: options.earlier ?? 0, knownRows };
  return whyWithhold(sync, { ...LIMITS, ...options.limits }) !== null;
}

describe('the guard of one collection', () => {
  it.each([
    // The limits are more than 50 rows and more than 5 %.
    { deletions: 51, known: 1_000, withheld: true },
    { deletions: 50, known: 900, withheld: false },
    { deletions: 51, known: 1_020, withheld: false },
    { deletions: 51, known: 1_019, withheld: true },
    { deletions: 1_000, known: 20_000, withheld: false },
    { deletions: 1_001, known: 20_000, withheld: true },
    // Half of five or more rows is too much.
    { deletions: 3, known: 5, withheld: true },
    { deletions: 2, known: 5, withheld: false },
    { deletions: 3, known: 6, withheld: true },
    { deletions: 49, known: 98, withheld: true },
    { deletions: 48, known: 98, withheld: false },
    { deletions: 2, known: 4, withheld: false },
    { deletions: 3, known: 4, withheld: false },
    // All rows are too much.
    { deletions: 1, known: 1, withheld: true },
    { deletions: 4, known: 4, withheld: true },
    // A sync without deletions is never withheld.
    { deletions: 0, known: 0, withheld: false },
    { deletions: 0, known: 100, withheld: false },
  ])('$deletions of $known: withheld $withheld', ({ deletions, known, withheld }) => {
    expect(isWithheld(deletions, known)).toBe(withheld);
  });

  it('a mass deletion in slices through a day is withheld', () => {
    expect(isWithheld(30, 970, { earlier: 30 })).toBe(true);
    expect(isWithheld(30, 970, { earlier: 30, limits: { perDay: false } })).toBe(false);
    expect(isWithheld(2, 6, { earlier: 2 })).toBe(true);
  });

  it('deletions earlier in the day withhold nothing from a sync without deletions', () => {
    expect(isWithheld(0, 10, { earlier: 1_000 })).toBe(false);
  });

  it('limits of 0 withhold every deletion', () => {
    expect(isWithheld(1, 1_000_000, { limits: { rows: 0, ratio: 0 } })).toBe(true);
  });

  it('more deletions are withheld wherever fewer are', () => {
    fc.assert(
      fc.property(fc.nat(3_000), fc.nat(3_000), fc.nat(60), (fewer, known, earlier) => {
        fc.pre(fewer < known);
        if (isWithheld(fewer, known, { earlier }))
          expect(isWithheld(fewer + 1, known, { earlier })).toBe(true);
      }),
    );
  });

  it('the loss of a complete collection is withheld, whatever the limits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.nat(1e6),
        fc.double({ min: 0, max: 1 }),
        (known, rows, ratio) => {
          expect(isWithheld(known, known, { limits: { rows, ratio, perDay: false } })).toBe(true);
        },
      ),
    );
  });

  it('the reason gives the numbers without invented digits', () => {
    const why = whyWithhold(
      { deletions: 80, deletedEarlierToday: 0, knownRows: 1_000 },
      { rows: 50, ratio: 0.07, perDay: true },
    );
    expect(why).toContain('80 of 1000');
    expect(why).toContain('more than 7 %');
  });
});

describe('the guard over several collections', () => {
  const third = { deletions: 100, knownRows: 3_000 };
  const usual = { deletions: 40, knownRows: 3_000 };

  it('a school of thirty that disappears from three collections is withheld below the limits of each', () => {
    expect(isWithheld(third.deletions, third.knownRows)).toBe(false);
    expect(whyTogether(third, [third, third], LIMITS)).not.toBeNull();
    expect(whyTogether(third, [third, usual, usual], LIMITS)).toBeNull();
  });

  it('an everyday loss is published although other collections lose more', () => {
    expect(whyTogether(usual, [third, third, third], LIMITS)).toBeNull();
    expect(whyTogether({ deletions: 51, knownRows: 5_101 }, [third, third], LIMITS)).toBeNull();
  });

  it('a loss is notable above the limit of rows and above a fifth of the ratio', () => {
    expect(isNotable({ deletions: 51, knownRows: 5_099 }, LIMITS)).toBe(true);
    expect(isNotable({ deletions: 51, knownRows: 5_100 }, LIMITS)).toBe(false);
    expect(isNotable({ deletions: 50, knownRows: 100 }, LIMITS)).toBe(false);
  });

  it('a guard that is switched off withholds nothing', () => {
    const off: GuardLimits = { rows: 1_000_000, ratio: 1, perDay: true };
    expect(whyTogether({ deletions: 3_000, knownRows: 3_000 }, [third, third], off)).toBeNull();
  });
});
