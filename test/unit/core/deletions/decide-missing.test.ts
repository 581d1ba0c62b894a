import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decideMissing,
  type MissingFacts,
  type MissingOutcome,
} from '../../../../src/core/deletions/decide-missing.ts';
import { forAll } from '../../support/for-all.ts';

const LIMITS = { rows: 3, ratio: 0.05 };

function keys(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, at) => `row-${first + at}`);
}

const rows = { before: new Map(), countsFor: () => true, missed: [], unlisted: 0, missesNeeded: () => 2 };
const hold = { onHoldSinceMs: null, isListLost: false, isOtherOnHold: false, approvedKeys: null };
const facts = (given: Partial<MissingFacts>): MissingFacts => ({
  ...rows,
  ...hold,
  atMs: 1_000,
  known: 100,
  removedToday: 0,
  limits: LIMITS,
  ...given,
});

/** A full sync after a settlement, in which only some keys are still missing; null: the first one. */
function next(settled: MissingOutcome | null, given: Partial<MissingFacts>): MissingOutcome {
  const isMissed = new Set(given.missed ?? []);
  const before = new Map([...(settled?.wait ?? [])].filter(([key]) => isMissed.has(key)));
  const { onHoldSinceMs = null, removedToday = 0 } = settled ?? {};
  return decideMissing(facts({ before, onHoldSinceMs, removedToday, ...given }));
}

type Outcome = Pick<MissingOutcome, 'remove' | 'onHoldSinceMs' | 'rowsOnHold' | 'unconfirmed'>;
const NOTHING: Outcome = { remove: [], onHoldSinceMs: null, rowsOnHold: 0, unconfirmed: 0 };

/** What comes of full syncs one after another. */
function story(syncs: readonly Partial<MissingFacts>[]): Outcome[] {
  let settled: MissingOutcome | null = null;
  return syncs.map((given) => {
    settled = next(settled, given);
    const { remove, onHoldSinceMs, rowsOnHold, unconfirmed } = settled;
    return { remove, onHoldSinceMs, rowsOnHold, unconfirmed };
  });
}

const gone = { missed: ['gone'] };
const byOffset = { ...gone, missesNeeded: () => 3 };
const ten = { missed: keys(10) };
const missing = (...missed: string[]) => ({ missed });
const approvedKeys = new Set(keys(10));
const otherOnHold = { ...gone, isOtherOnHold: true };
const lostList = { onHoldSinceMs: 1_000, isListLost: true, atMs: 9_000 };

const waits = { unconfirmed: 1 };
const onHold = (rowsOnHold: number, unconfirmed = 0, onHoldSinceMs = 1_000) => ({
  onHoldSinceMs,
  rowsOnHold,
  unconfirmed,
});

it.each<[string, Partial<MissingFacts>[], Partial<Outcome>[]]>([
  ['wait after one miss, and are removed after two in a row', [gone, gone], [waits, { remove: ['gone'] }]],
  ['need three misses by offset', [byOffset, byOffset, byOffset], [waits, waits, { remove: ['gone'] }]],
  ['count anew after they were seen', [gone, {}, gone], [waits, {}, waits]],
  [
    'are on hold until each is back: a hub that recovers step by step releases nothing',
    [ten, { ...missing(...keys(9)), atMs: 5_000 }, missing('row-0'), {}],
    [onHold(10, 10), onHold(9), onHold(1), {}],
  ],
  [
    'are on hold with the removals of the same day, and midnight releases nothing',
    [
      { missed: keys(3), removedToday: 3, known: 97 },
      { missed: keys(2), removedToday: 0 },
    ],
    [onHold(3, 3), onHold(2)],
  ],
  [
    'that left during a hold are judged anew when the hold ends',
    [ten, { ...missing('row-0', 'later'), atMs: 2_000 }, { ...missing('later'), atMs: 3_000 }],
    [onHold(10, 10), onHold(2, 1), { remove: ['later'] }],
  ],
  [
    'are listed by the first complete full sync if the list of a hold was lost',
    [{ missed: keys(2), ...lostList }, missing('row-0'), {}],
    [onHold(2, 2), onHold(1), {}],
  ],
  ['whose list was lost are on hold no more once a full sync misses none', [lostList], [{}]],
  [
    'are on hold if they are more than a list can hold',
    [{ missed: keys(2), unlisted: 7, limits: { rows: 1_000_000, ratio: 1 } }],
    [onHold(9, 2)],
  ],
  [
    'are counted while another collection is on hold, and removed afterwards',
    [otherOnHold, otherOnHold, gone],
    [waits, { rowsOnHold: 1 }, { remove: ['gone'] }],
  ],
  [
    'that are approved are removed alone, also while another collection is on hold',
    [ten, { missed: [...keys(8), 'leaver'], approvedKeys, isOtherOnHold: true, atMs: 2_000 }],
    [onHold(10, 10), { remove: keys(8), ...waits }],
  ],
  [
    'that are approved end the hold, so that ordinary leavers need no second decision',
    [
      ten,
      { missed: [...keys(10), 'leaver'], approvedKeys, atMs: 2_000 },
      { ...missing('leaver'), known: 90 },
    ],
    [onHold(10, 10), { remove: keys(10), ...waits }, { remove: ['leaver'] }],
  ],
  [
    'stay on hold, however few, when others are approved',
    [
      ten,
      { missed: keys(9), approvedKeys: new Set(keys(8)) },
      { ...missing('row-8'), known: 92 },
      { ...missing('row-8'), known: 92, approvedKeys: new Set(['row-8']) },
    ],
    [onHold(10, 10), { remove: keys(8), ...onHold(1, 0) }, onHold(1, 0), { remove: ['row-8'] }],
  ],
  [
    'stay on hold if they were listed and are not approved',
    [
      ten,
      { missed: [...keys(10), 'later'], atMs: 2_000 },
      { missed: [...keys(10), 'later'], approvedKeys, atMs: 3_000 },
      { ...missing('later'), known: 90, atMs: 4_000 },
      { known: 90, atMs: 5_000 },
    ],
    [onHold(10, 10), onHold(11, 1), { remove: keys(10), ...onHold(1, 0, 2_000) }, onHold(1, 0, 2_000), {}],
  ],
  [
    'beside the approved rows are left to the guard',
    [ten, { missed: [...keys(10), ...keys(20, 50)], approvedKeys, atMs: 2_000 }],
    [onHold(10, 10), { remove: keys(10), ...onHold(20, 20, 2_000) }],
  ],
])('missing rows %s', (_name, syncs, expected) => {
  expect(story(syncs)).toEqual(expected.map((each) => ({ ...NOTHING, ...each })));
});

it('missing rows stay as they were while a sync does not count for their scope', () => {
  const first = next(null, gone);
  const failed = decideMissing(facts({ before: first.wait, countsFor: () => false, atMs: 2_000 }));
  expect(failed.wait).toEqual(first.wait);
  expect(next(failed, gone)).toMatchObject({ remove: ['gone'], removedToday: 1, wait: new Map() });
});

it('the state of missing rows says why and since when they are on hold, and counts approved rows', () => {
  const first = next(null, { missed: keys(3), removedToday: 3, known: 97 });
  expect(first.whyOnHold).toContain('6 of 100 rows today');
  expect(first.holdBegins).toBe(true);
  const later = next(first, { missed: keys(2), removedToday: 0 });
  expect(later).toMatchObject({ holdBegins: false, whyOnHold: '2 of 100 rows are still missing' });
  const all = next(later, { missed: keys(100), known: 100 });
  expect(all).toMatchObject({
    holdBegins: false,
    whyOnHold: "all of the collection's rows (100) are missing",
  });
  expect(next(all, {})).toMatchObject({ onHoldSinceMs: null, whyOnHold: null });
  const lost = next(null, { missed: keys(1), ...lostList });
  expect([...lost.wait.values()]).toEqual([{ sinceMs: 1_000, times: 1 }]);
  // a process with a fast clock missed one before
  const before = new Map([['before', { sinceMs: 9_000, times: 1 }]]);
  const withBefore = decideMissing(facts({ before, missed: [...keys(10), 'before'] }));
  const { onHoldSinceMs } = withBefore;
  expect(next(withBefore, missing('before'))).toMatchObject({ remove: [], onHoldSinceMs, rowsOnHold: 1 });
  const released = next(next(null, ten), { missed: keys(8), approvedKeys, atMs: 2_000 });
  expect(released).toMatchObject({ approvedGone: 8, removedToday: 0 });
});

it('a row is removed only if it was missed twice in a row and is not on hold, or if it was approved', () => {
  const ids = fc.uniqueArray(
    fc.nat({ max: 12 }).map((id) => `row-${id}`),
    { maxLength: 8 },
  );
  const sync = fc.record({ missed: ids, isOtherOnHold: fc.boolean(), approved: fc.option(ids, { freq: 8 }) });
  forAll([fc.array(sync, { maxLength: 12 })], (syncs) => {
    let settled: MissingOutcome | null = null;
    let missedBefore = new Set<string>();
    for (const [atMs, { missed, isOtherOnHold, approved: listed }] of syncs.entries()) {
      const given = listed === null ? null : new Set(listed);
      const wasOnHold: boolean = settled?.onHoldSinceMs != null;
      settled = next(settled, { missed, approvedKeys: given, isOtherOnHold, atMs, known: 40 });
      for (const key of settled.remove) {
        const isLeft = given !== null && wasOnHold && missedBefore.has(key);
        const isFree = settled.onHoldSinceMs === null && !isOtherOnHold && missedBefore.has(key) && !isLeft;
        expect(given?.has(key) === true || isFree).toBe(true);
        expect(missed).toContain(key);
      }
      missedBefore = new Set(missed);
    }
  });
});
