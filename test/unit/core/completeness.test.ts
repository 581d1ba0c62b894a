import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeCompleteness, type FullScan } from '../../../src/core/completeness.ts';

const WHOLE: FullScan = {
  ending: 'hub-sign',
  byOffset: false,
  distinctRows: 100,
  rowsWithoutId: 0,
  totalAtStart: 100,
  totalAtEnd: 100,
  knownRows: 100,
};

const judged = (changes: Partial<FullScan>) => judgeCompleteness({ ...WHOLE, ...changes }).kind;

describe('whether a full sync is complete', () => {
  it('a cursor scan whose rows all have ids, and whose count agrees with the total before and after, is proven', () => {
    expect(judged({})).toBe('proven');
  });

  it('a sync whose count lies between the totals before and after is proven', () => {
    expect(judged({ totalAtStart: 98, totalAtEnd: 103 })).toBe('proven');
    expect(judged({ totalAtStart: 103, totalAtEnd: 98 })).toBe('proven');
  });

  it.each([
    ['fewer rows than any total', { distinctRows: 99 }],
    ['more rows than any total', { distinctRows: 101 }],
    ['a total of 0', { totalAtStart: 0, totalAtEnd: 0 }],
    ['no total at the start', { totalAtStart: null }],
    ['no total at the end', { totalAtEnd: null }],
    ['a scan by offset, where moving rows are skipped', { byOffset: true }],
  ])('%s needs a second sync', (_, changes) => {
    expect(judged(changes)).toBe('needs-second-sync');
  });

  it.each([
    ['a response without a list', { ending: 'no-list' } as const],
    ['an empty list where rows are known', { ending: 'empty', distinctRows: 0 } as const],
    [
      'an empty list with a total of 0',
      { ending: 'empty', distinctRows: 0, totalAtStart: 0, totalAtEnd: 0 } as const,
    ],
    ['a row whose id cannot be read', { rowsWithoutId: 1 }],
  ])('%s stays unproven, even after a second sync', (_, changes) => {
    expect(judged(changes)).toBe('unproven');
  });

  it('a collection that was always empty is proven', () => {
    const empty = { ending: 'empty', distinctRows: 0, knownRows: 0, totalAtStart: 0, totalAtEnd: 0 } as const;
    expect(judged(empty)).toBe('proven');
  });

  it('only a count that agrees with both totals proves a sync', () => {
    const total = fc.option(fc.nat({ max: 20 }));
    fc.assert(
      fc.property(
        fc.record<FullScan>({
          ending: fc.constantFrom('hub-sign', 'empty', 'no-list'),
          byOffset: fc.boolean(),
          distinctRows: fc.nat({ max: 20 }),
          rowsWithoutId: fc.nat({ max: 1 }),
          totalAtStart: total,
          totalAtEnd: total,
          knownRows: fc.nat({ max: 20 }),
        }),
        (scan) => {
          const { totalAtStart, totalAtEnd, distinctRows } = scan;
          if (judgeCompleteness(scan).kind !== 'proven') return;
          expect(scan.rowsWithoutId).toBe(0);
          expect(scan.byOffset).toBe(false);
          expect(scan.ending).not.toBe('no-list');
          expect(scan.ending === 'empty' && scan.knownRows > 0).toBe(false);
          const totals = [totalAtStart ?? Number.NaN, totalAtEnd ?? Number.NaN].toSorted((a, b) => a - b);
          expect(distinctRows).toBeGreaterThanOrEqual(totals[0] ?? Number.NaN);
          expect(distinctRows).toBeLessThanOrEqual(totals[1] ?? Number.NaN);
        },
      ),
    );
  });

  it("only a proper list without rows counts as empty, and no other end needs a person's decision", () => {
    const none = { distinctRows: 0, totalAtStart: 0, totalAtEnd: 0 };
    expect(judgeCompleteness({ ...WHOLE, ...none, ending: 'empty' })).toMatchObject({ isEmpty: true });
    expect(judgeCompleteness({ ...WHOLE, ...none, ending: 'gone' })).toMatchObject({
      kind: 'unproven',
      isInconclusive: true,
      isEmpty: false,
    });
    const noList = judgeCompleteness({ ...WHOLE, ...none, ending: 'no-list' });
    expect(noList.kind === 'unproven' && noList.isEmpty === true).toBe(false);
  });
});
