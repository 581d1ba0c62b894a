import { describe, expect, it } from 'vitest';
import { canVerifyIdentity, judgeOverlap } from '../../../src/core/tenant-identity.ts';

describe('whose rows a hub gives', () => {
  const of100 = (rows: number, knownAmongThem: number, pages: number, isAll = false) =>
    judgeOverlap({ rows, knownAmongThem, knownRows: 100, pages, isAll });

  it("rows with little overlap are another tenant's", () => {
    expect(of100(20_000, 0, 20)).toBe('wrong-tenant');
    expect(of100(20_000, 9, 20)).toBe('wrong-tenant');
    expect(of100(30, 2, 1, true)).toBe('wrong-tenant');
  });

  it("new rows that sort before the known ones leave the answer open, or the hub this tenant's own", () => {
    expect(of100(1_000, 0, 1)).toBe('unsure');
    expect(of100(2_000, 10, 2)).toBe('own');
  });

  it("a collection that grew many times over is still this tenant's own", () => {
    expect(judgeOverlap({ rows: 320, knownAmongThem: 20, knownRows: 20, pages: 1, isAll: true })).toBe('own');
    expect(judgeOverlap({ rows: 85, knownAmongThem: 5, knownRows: 5, pages: 1, isAll: true })).toBe('own');
    expect(judgeOverlap({ rows: 46, knownAmongThem: 6, knownRows: 6, pages: 7, isAll: true })).toBe('own');
  });

  it('no rows leave the answer open until the scan ends', () => {
    expect(of100(0, 0, 1)).toBe('unsure');
    expect(of100(0, 0, 1, true)).toBe('own');
  });

  it('a collection of fewer than five rows is too small to judge', () => {
    expect([4, 5].map(canVerifyIdentity)).toEqual([false, true]);
  });
});
