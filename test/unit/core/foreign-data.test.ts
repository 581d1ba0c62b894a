import { describe, expect, it } from 'vitest';
import { canTellForeign, judgeOverlap } from '../../../src/core/foreign-data.ts';

describe('judgeOverlap', () => {
  const first = (rows: number, knownAmongThem: number, pages: number, isAll = false) =>
    judgeOverlap({ rows, knownAmongThem, pages, isAll });

  it("another tenant's rows are not taken for this one's", () => {
    expect(first(5000, 0, 5)).toBe('foreign');
    expect(first(5000, 499, 5)).toBe('foreign');
    expect(first(30, 2, 1, true)).toBe('foreign');
  });

  it("new rows that sort before the known ones do not make a hub another's", () => {
    expect(first(1000, 0, 1)).toBe('unsure');
    expect(first(2000, 200, 2)).toBe('own');
  });

  it('no rows at all say nothing of whose they are', () => {
    expect(first(0, 0, 1)).toBe('unsure');
    expect(first(0, 0, 1, true)).toBe('own');
  });

  it('a collection of less than five rows is too small to be told', () => {
    expect([4, 5].map(canTellForeign)).toEqual([false, true]);
  });
});
