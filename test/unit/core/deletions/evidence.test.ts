import { describe, expect, it } from 'vitest';
import { hasAgreed, judgeScope, type ScanEvidence } from '../../../../src/core/deletions/evidence.ts';

function scan(given: Partial<ScanEvidence>): ScanEvidence {
  return {
    scope: '',
    ending: 'proper',
    byOffset: false,
    isComposed: false,
    distinctRows: 250,
    rowsWithoutId: 0,
    totalAtStart: 250,
    totalAtEnd: 250,
    ...given,
  };
}

describe('a full sync is complete for a scope', () => {
  it.each([
    { name: 'if as many rows came as the hub counts', given: {} },
    { name: 'if more came', given: { distinctRows: 300 } },
    { name: 'if no fewer came than the lower total', given: { distinctRows: 249, totalAtEnd: 249 } },
    { name: 'if the total is missing', given: { distinctRows: 190, totalAtStart: null, totalAtEnd: null } },
    { name: 'if the total is 0', given: { distinctRows: 190, totalAtStart: 0, totalAtEnd: 0 } },
    { name: 'if the total is below what came', given: { totalAtStart: 20, totalAtEnd: 20 } },
    { name: 'if it is empty: it misses all', given: { distinctRows: 0, totalAtStart: 0, totalAtEnd: 0 } },
  ])('$name', ({ given }) => {
    expect(judgeScope(scan(given))).toEqual({ kind: 'complete', missesNeeded: 2 });
  });

  it('by offset as well, with three misses where no total agreed', () => {
    const byOffset = { byOffset: true };
    expect(judgeScope(scan(byOffset))).toEqual({ kind: 'complete', missesNeeded: 2 });
    expect(judgeScope(scan({ ...byOffset, totalAtStart: null }))).toEqual({
      kind: 'complete',
      missesNeeded: 3,
    });
    expect(judgeScope(scan({ ...byOffset, distinctRows: 251 }))).toEqual({
      kind: 'complete',
      missesNeeded: 3,
    });
  });

  it('and its count agrees while rows come and go, if it lies between the totals', () => {
    expect(hasAgreed({ distinctRows: 250, totalAtStart: 255, totalAtEnd: 245 })).toBe(true);
    expect(hasAgreed({ distinctRows: 256, totalAtStart: 255, totalAtEnd: 245 })).toBe(false);
  });
});

describe('a full sync is not complete for a scope', () => {
  it.each(['keyset', 'offset'])('that stays below the lower total, by %s', (paging) => {
    const short = scan({ byOffset: paging === 'offset', distinctRows: 190, totalAtEnd: 251 });
    expect(judgeScope(short)).toEqual({
      kind: 'short',
      shortfall: { rows: 190, total: 250 },
      isComposed: false,
    });
  });

  it('that is empty where the hub counts rows', () => {
    expect(judgeScope(scan({ distinctRows: 0 })).kind).toBe('short');
  });

  it('with a row that has no readable id', () => {
    expect(judgeScope(scan({ rowsWithoutId: 1 })).kind).toBe('nameless');
  });

  it.each(['no-list', 'repeated', 'unread'] as const)('whose answer was inconclusive: %s', (ending) => {
    expect(judgeScope(scan({ ending })).kind).toBe('inconclusive');
  });
});
