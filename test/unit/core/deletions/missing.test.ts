import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  settle,
  type Judged,
  type MissingKeys,
  type Settlement,
} from '../../../../src/core/deletions/missing.ts';

const LIMITS = { rows: 3, ratio: 0.05 };
const NONE: MissingKeys = new Map();

function keys(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, at) => `row-${first + at}`);
}

function judged(given: Partial<Judged>): Judged {
  return {
    atMs: 1_000,
    before: NONE,
    counts: () => true,
    missed: [],
    unlisted: 0,
    missesNeeded: () => 2,
    heldSinceMs: null,
    isListLost: false,
    isOtherHeld: false,
    approved: null,
    known: 100,
    removedToday: 0,
    limits: LIMITS,
    ...given,
  };
}

/** The next full sync after a settlement, in which only some keys are still missing. */
function after(settled: Settlement, given: Partial<Judged>): Judged {
  const { missed = [] } = given;
  const isMissed = new Set(missed);
  return judged({
    before: new Map([...settled.wait].filter(([key]) => isMissed.has(key))),
    heldSinceMs: settled.heldSinceMs,
    removedToday: settled.removedToday,
    ...given,
  });
}

describe('a row that complete full syncs miss', () => {
  it('waits after the first, and is removed by the second in a row', () => {
    const first = settle(judged({ missed: ['gone'] }));
    expect(first).toMatchObject({ remove: [], unconfirmed: 1, withheld: 0 });
    const second = settle(after(first, { atMs: 2_000, missed: ['gone'] }));
    expect(second).toMatchObject({ remove: ['gone'], removedToday: 1, unconfirmed: 0 });
    expect(second.wait.size).toBe(0);
  });

  it('is removed after three misses by offset, if no total agreed', () => {
    const byOffset = { missed: ['gone'], missesNeeded: () => 3 };
    const first = settle(judged(byOffset));
    const second = settle(after(first, byOffset));
    expect([first.remove, second.remove]).toEqual([[], []]);
    expect(settle(after(second, byOffset)).remove).toEqual(['gone']);
  });

  it('begins again after it was seen', () => {
    const first = settle(judged({ missed: ['gone'] }));
    const seen = settle(after(first, { missed: [] }));
    expect(settle(after(seen, { missed: ['gone'] })).remove).toEqual([]);
  });

  it('stays as it was while a sync does not count for its scope', () => {
    const first = settle(judged({ missed: ['a|gone'] }));
    const failed = settle(judged({ before: first.wait, counts: () => false, atMs: 2_000 }));
    expect(failed.wait).toEqual(first.wait);
    expect(settle(after(failed, { missed: ['a|gone'] })).remove).toEqual(['a|gone']);
  });
});

describe('a collection is held', () => {
  it('at the first miss already, over all that is missing and what was removed today', () => {
    const settled = settle(judged({ missed: keys(3), removedToday: 3, known: 97 }));
    expect(settled).toMatchObject({ remove: [], heldSinceMs: 1_000, withheld: 3 });
    expect(settled.why).toContain('6 of 100 rows today');
  });

  it('and removes nothing, however often the rows are missed', () => {
    let settled = settle(judged({ missed: keys(10) }));
    for (let sync = 0; sync < 5; sync += 1) settled = settle(after(settled, { missed: keys(10) }));
    expect(settled).toMatchObject({ remove: [], heldSinceMs: 1_000, withheld: 10, why: null });
  });

  it('until each row is back that was missing at its begin: a hub that recovers step by step releases nothing', () => {
    let settled = settle(judged({ missed: keys(10) }));
    for (let left = 9; left > 0; left -= 1) {
      settled = settle(after(settled, { missed: keys(left), atMs: 5_000 }));
      expect(settled).toMatchObject({ remove: [], heldSinceMs: 1_000, withheld: left });
    }
    expect(settle(after(settled, { missed: [] })).heldSinceMs).toBeNull();
  });

  it('and midnight releases nothing: that the day begins with no removal changes no hold', () => {
    const held = settle(judged({ missed: keys(3), removedToday: 3, known: 97 }));
    const nextDay = settle(after(held, { missed: keys(2), removedToday: 0 }));
    expect(nextDay).toMatchObject({ remove: [], heldSinceMs: 1_000 });
  });

  it('no longer for those who left later: they are judged afresh when it ends', () => {
    const held = settle(judged({ missed: keys(10) }));
    const joined = settle(after(held, { missed: [...keys(1), 'later'], atMs: 2_000 }));
    expect(joined).toMatchObject({ remove: [], heldSinceMs: 1_000, withheld: 2 });
    const over = settle(after(joined, { missed: ['later'], atMs: 3_000 }));
    expect(over).toMatchObject({ remove: ['later'], heldSinceMs: null });
  });

  it('for rows too that a process with a fast clock has missed before', () => {
    const missed = [...keys(10), 'before'];
    const before = new Map([['before', { sinceMs: 9_000, times: 1 }]]);
    const held = settle(judged({ before, missed }));
    const one = settle(after(held, { missed: ['before'] }));
    expect(one).toMatchObject({ remove: [], heldSinceMs: held.heldSinceMs, withheld: 1 });
  });

  it('and the first complete full sync lists what it misses, if the list was lost', () => {
    const lost = settle(judged({ missed: keys(2), atMs: 9_000, heldSinceMs: 1_000, isListLost: true }));
    expect(lost).toMatchObject({ remove: [], heldSinceMs: 1_000, withheld: 2 });
    expect([...lost.wait.values()]).toEqual([
      { sinceMs: 1_000, times: 1 },
      { sinceMs: 1_000, times: 1 },
    ]);
    const again = settle(after(lost, { missed: keys(1), atMs: 10_000 }));
    expect(again).toMatchObject({ remove: [], heldSinceMs: 1_000 });
    const nothing = settle(judged({ heldSinceMs: 1_000, isListLost: true }));
    expect(nothing.heldSinceMs).toBeNull();
  });

  it('if more is missing than a list can hold', () => {
    const limits = { rows: 1_000_000, ratio: 1 };
    expect(settle(judged({ missed: keys(2), unlisted: 7, limits }))).toMatchObject({
      heldSinceMs: 1_000,
      withheld: 9,
    });
  });

  it('and while another one is, removes nothing either, but goes on counting', () => {
    const first = settle(judged({ missed: ['leaver'], isOtherHeld: true }));
    const second = settle(after(first, { missed: ['leaver'], isOtherHeld: true }));
    expect(second).toMatchObject({ remove: [], heldSinceMs: null, withheld: 1, unconfirmed: 0 });
    expect(settle(after(second, { missed: ['leaver'] })).remove).toEqual(['leaver']);
  });
});

describe('an approved list', () => {
  const held = settle(judged({ missed: keys(10) }));

  it('is removed if it is missing still, and no other row with it', () => {
    const approved = new Set(keys(10));
    const missed = [...keys(8), 'ordinary leaver'];
    const released = settle(after(held, { missed, approved, isOtherHeld: true }));
    expect(released.remove).toEqual(keys(8));
    expect(released.approved).toBe(8);
  });

  it('ends the hold, and its removals do not count: ordinary leavers of the same minute need no second decision', () => {
    const approved = new Set(keys(10));
    const released = settle(after(held, { missed: [...keys(10), 'leaver'], approved, atMs: 2_000 }));
    expect(released).toMatchObject({ heldSinceMs: null, removedToday: 0, unconfirmed: 1 });
    const next = settle(after(released, { missed: ['leaver'], known: 90, atMs: 3_000 }));
    expect(next).toMatchObject({ remove: ['leaver'], heldSinceMs: null });
  });

  it('leaves what else is missing to the guard', () => {
    const approved = new Set(keys(10));
    const missed = [...keys(10), ...keys(20, 50)];
    const released = settle(after(held, { missed, approved, atMs: 2_000 }));
    expect(released).toMatchObject({ approved: 10, heldSinceMs: 2_000, withheld: 20 });
  });
});

describe('whatever full syncs miss', () => {
  it('no row is removed that was not missed twice in a row, and none while the collection is held, unless approved', () => {
    const row = fc.nat({ max: 12 });
    const sync = fc.record({
      missed: fc.uniqueArray(row, { maxLength: 8 }),
      isOtherHeld: fc.boolean(),
      approved: fc.option(fc.uniqueArray(row, { maxLength: 8 }), { freq: 8 }),
    });
    fc.assert(
      fc.property(fc.array(sync, { maxLength: 12 }), (syncs) => {
        let settled: Settlement | null = null;
        let missedBefore = new Set<string>();
        for (const [at, each] of syncs.entries()) {
          const missed = each.missed.map((id) => `row-${id}`);
          const approved = each.approved === null ? null : new Set(each.approved.map((id) => `row-${id}`));
          const given = { missed, approved, isOtherHeld: each.isOtherHeld, atMs: at, known: 40 };
          const next: Settlement = settle(settled === null ? judged(given) : after(settled, given));
          for (const key of next.remove) {
            const isFree = next.heldSinceMs === null && !each.isOtherHeld && missedBefore.has(key);
            expect(approved?.has(key) === true || isFree).toBe(true);
            expect(missed).toContain(key);
          }
          missedBefore = new Set(missed);
          settled = next;
        }
      }),
    );
  });
});
