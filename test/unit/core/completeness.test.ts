import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeCompleteness, type FullWalk } from '../../../src/core/completeness.ts';

const WHOLE: FullWalk = {
  ending: 'hub-sign',
  byOffset: false,
  distinctRows: 100,
  rowsWithoutId: 0,
  totalAtStart: 100,
  totalAtEnd: 100,
  knownRows: 100,
};

const judged = (changes: Partial<FullWalk>) => judgeCompleteness({ ...WHOLE, ...changes }).kind;

describe('judgeCompleteness', () => {
  it('a pass whose count agrees with the total before and after is not doubted', () => {
    expect(judged({})).toBe('proven');
  });

  it('a total that moved while the pass ran is no doubt as long as the count lies between', () => {
    expect(judged({ totalAtStart: 98, totalAtEnd: 103 })).toBe('proven');
    expect(judged({ totalAtStart: 103, totalAtEnd: 98 })).toBe('proven');
  });

  it.each([
    ['fewer rows than any total', { distinctRows: 99 }],
    ['more rows than any total', { distinctRows: 101 }],
    ['a total of 0', { totalAtStart: 0, totalAtEnd: 0 }],
    ['no total at the start', { totalAtStart: null }],
    ['no total at the end', { totalAtEnd: null }],
    ['a walk by offset, where moving rows are skipped', { byOffset: true }],
  ])('%s proves nothing by one pass alone', (_, changes) => {
    expect(judged(changes)).toBe('needs-second-pass');
  });

  it.each([
    ['a response without a list', { ending: 'no-list' } as const],
    ['an empty list where rows are known', { ending: 'empty', distinctRows: 0 } as const],
    [
      'an empty list that a total of 0 agrees with',
      { ending: 'empty', distinctRows: 0, totalAtStart: 0, totalAtEnd: 0 } as const,
    ],
    ['a row whose id cannot be read', { rowsWithoutId: 1 }],
  ])('%s makes no row a candidate, not even after a second pass', (_, changes) => {
    expect(judged(changes)).toBe('unproven');
  });

  it('a collection that was always empty is not suspect', () => {
    const empty = { ending: 'empty', distinctRows: 0, knownRows: 0, totalAtStart: 0, totalAtEnd: 0 } as const;
    expect(judged(empty)).toBe('proven');
  });

  it('nothing but the agreement of both totals with the count ever proves a pass', () => {
    const total = fc.option(fc.nat({ max: 20 }));
    fc.assert(
      fc.property(
        fc.record<FullWalk>({
          ending: fc.constantFrom('hub-sign', 'empty', 'no-list'),
          byOffset: fc.boolean(),
          distinctRows: fc.nat({ max: 20 }),
          rowsWithoutId: fc.nat({ max: 1 }),
          totalAtStart: total,
          totalAtEnd: total,
          knownRows: fc.nat({ max: 20 }),
        }),
        (walk) => {
          const { totalAtStart, totalAtEnd, distinctRows } = walk;
          if (judgeCompleteness(walk).kind !== 'proven') return;
          expect(walk.rowsWithoutId).toBe(0);
          expect(walk.byOffset).toBe(false);
          expect(walk.ending).not.toBe('no-list');
          expect(walk.ending === 'empty' && walk.knownRows > 0).toBe(false);
          const totals = [totalAtStart ?? Number.NaN, totalAtEnd ?? Number.NaN].toSorted((a, b) => a - b);
          expect(distinctRows).toBeGreaterThanOrEqual(totals[0] ?? Number.NaN);
          expect(distinctRows).toBeLessThanOrEqual(totals[1] ?? Number.NaN);
        },
      ),
    );
  });

  it('only a proper list without rows may ever be believed, by a person', () => {
    const none = { distinctRows: 0, totalAtStart: 0, totalAtEnd: 0 };
    expect(judgeCompleteness({ ...WHOLE, ...none, ending: 'empty' })).toMatchObject({ isEmpty: true });
    expect(judgeCompleteness({ ...WHOLE, ...none, ending: 'gone' })).toMatchObject({
      kind: 'unproven',
      isSuspect: true,
      isEmpty: false,
    });
    const noList = judgeCompleteness({ ...WHOLE, ...none, ending: 'no-list' });
    expect(noList.kind === 'unproven' && noList.isEmpty === true).toBe(false);
  });
});
