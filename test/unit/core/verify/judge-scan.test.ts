import { describe, expect, it } from 'vitest';
import type { ScanEvidence } from '../../../../src/core/deletions/evidence.ts';
import { judgeScan, provesMissing, type ScanBeside } from '../../../../src/core/verify/judge-scan.ts';

const WHOLE: ScanEvidence = {
  scope: '',
  ending: 'proper',
  byOffset: false,
  isComposed: false,
  distinctRows: 40,
  rowsWithoutId: 0,
  totalAtStart: 40,
  totalAtEnd: 40,
};
const SHORT = { distinctRows: 16 };
const NO_TOTAL = { totalAtStart: null, totalAtEnd: null };

const judged = (scan: Partial<ScanEvidence>, beside: Partial<Omit<ScanBeside, 'scopes'>> = {}) =>
  judgeScan({ scopes: [{ ...WHOLE, ...scan }], number: 1, news: 40, newRowsThereAtStart: 40, ...beside })
    .kind;
const nothingNew = (number: number) => ({ number, news: 0, newRowsThereAtStart: 0 });

describe('a scan of the hub', () => {
  it('that brought as many rows as the hub counts is complete at once', () => {
    expect(judged({})).toBe('complete');
    expect(judged({ byOffset: true })).toBe('complete');
    expect(judged({ byOffset: true, distinctRows: 41, totalAtEnd: 42 })).toBe('complete');
  });

  it.each([
    ['short of the count', SHORT],
    ['short of the count by offset', { ...SHORT, byOffset: true }],
    ['without a list', { ending: 'no-list' } as const],
    ['of one page that repeats', { ending: 'repeated' } as const],
    ['whose parents are gone', { ending: 'not-found', distinctRows: 0 } as const],
  ])('%s is never believed', (_name, scan) => {
    expect(judged(scan)).toBe('again');
    // A second scan with the same result proves nothing.
    expect(judged(scan, nothingNew(2))).toBe('unproven');
    expect(judged(scan, { number: 2, news: 3, newRowsThereAtStart: 0 })).toBe('again');
    expect(judged(scan, { number: 3, news: 3, newRowsThereAtStart: 0 })).toBe('unproven');
  });

  it.each([
    ['no total', NO_TOTAL],
    ['a total of 0', { totalAtStart: 0, totalAtEnd: 0 }],
    ['no total, by offset', { ...NO_TOTAL, byOffset: true }],
    ['no rows', { ...NO_TOTAL, distinctRows: 0 }],
  ])('with %s is complete once another scan brings no older row', (_name, scan) => {
    expect(judged(scan)).toBe('again');
    expect(judged(scan, nothingNew(2))).toBe('complete');
    // These rows were created after the first scan began.
    expect(judged(scan, { number: 2, news: 2, newRowsThereAtStart: 0 })).toBe('complete');
    expect(judged(scan, { number: 2, news: 2, newRowsThereAtStart: 1 })).toBe('again');
    expect(judged(scan, nothingNew(3))).toBe('complete');
    expect(judged(scan, { number: 3, news: 2, newRowsThereAtStart: 1 })).toBe('unproven');
  });

  it('that is short does not show which rows are gone', () => {
    expect(provesMissing([{ ...WHOLE, ...SHORT }])).toBe(false);
    expect(provesMissing([{ ...WHOLE, ending: 'no-list' }])).toBe(false);
    expect([provesMissing([WHOLE]), provesMissing([{ ...WHOLE, ...NO_TOTAL }])]).toEqual([true, true]);
  });

  it('of one parent of several that the hub does not find says nothing against the others', () => {
    expect(provesMissing([WHOLE, { ...WHOLE, ending: 'not-found', distinctRows: 0 }])).toBe(true);
  });
});
