import { describe, expect, it } from 'vitest';
import { inTurn, pairedOf } from '../../../bench/paired.ts';

describe('a measurement with chains and without', () => {
  it('compares only rounds that were measured together', () => {
    const rounds = { with: [11, 22, 33], without: [10, 20, 60] };
    const { difference, times } = pairedOf(rounds, (value) => value);
    expect(difference).toEqual({ min: -27, median: 1, max: 2 });
    expect(times.min).toBeCloseTo(0.55);
    expect(times.median).toBeCloseTo(1.1);
  });

  it('lets the two kinds take turns in coming first', () => {
    expect([inTurn(0), inTurn(1)]).toEqual([
      ['with', 'without'],
      ['without', 'with'],
    ]);
  });
});
