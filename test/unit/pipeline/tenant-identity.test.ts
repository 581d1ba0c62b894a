import { describe, expect, it } from 'vitest';
import { canVerifyIdentity, overlapsEnough } from '../../../src/sync/tenant-identity.ts';

describe("whether the rows of a hub are this tenant's", () => {
  const of100 = (rows: number, knownAmongThem: number) =>
    overlapsEnough({ rows, knownAmongThem, knownRows: 100 });

  it("rows with little overlap are another tenant's", () => {
    expect(of100(1_000, 0)).toBe(false);
    expect(of100(20_000, 9)).toBe(false);
    expect(of100(30, 2)).toBe(false);
    expect(of100(2_000, 10)).toBe(true);
    expect(overlapsEnough({ rows: 3, knownAmongThem: 0, knownRows: 0 })).toBe(false);
  });

  it("a collection that grew many times over is still this tenant's own", () => {
    expect(overlapsEnough({ rows: 320, knownAmongThem: 20, knownRows: 20 })).toBe(true);
    expect(overlapsEnough({ rows: 85, knownAmongThem: 5, knownRows: 5 })).toBe(true);
    expect(overlapsEnough({ rows: 46, knownAmongThem: 6, knownRows: 6 })).toBe(true);
  });

  it('an answer without rows is not taken for another tenant’s', () => {
    expect(of100(0, 0)).toBe(true);
  });

  it('a collection of fewer than five rows is too small to judge', () => {
    expect([4, 5].map(canVerifyIdentity)).toEqual([false, true]);
  });
});
