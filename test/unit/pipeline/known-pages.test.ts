import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PageMemory } from '../../../src/core/pages/page-memory.ts';
import { Fingerprints, SeenKeys } from '../../../src/core/seen-keys.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { RunningSyncs } from '../../../src/table/running-syncs.ts';
import { madeSync } from './support/made-collection.ts';
import { MadeHub } from './support/made-hub.ts';

const IDS = 8;
const { signal } = new AbortController();

/** Few contents, so that rows change back. `spoils`: what is written cannot be read. */
const step = fc.record({
  do: fc.constantFrom(
    'write',
    'write',
    'leave',
    'restamp',
    'full',
    'full',
    'incremental',
    'incremental-within-full',
  ),
  row: fc.nat(IDS - 1),
  content: fc.nat(1),
  spoils: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Of one collection: what was reported, counted and published; every page is parsed if there is no memory. */
async function play(pages: PageMemory | undefined, steps: readonly Step[]) {
  const made = new MadeHub(3);
  const reported: unknown[] = [];
  const own = await made.session({
    pages,
    emit: (event) => {
      if (event.type === 'deletion') reported.push(event.event.kind);
      if (event.type === 'sync-page') reported.push({ ...event.stats, syncId: null }, event.tally);
    },
  });
  let stampMs = made.nowMs;
  const sync = async (mode: SyncMode): Promise<void> => {
    const { stats, ...result } = await runSync(own, mode, { signal });
    reported.push({ ...stats, syncId: null }, result);
  };
  // Incremental syncs get all rows.
  const write = ({ row, content, spoils }: Omit<Step, 'do'>) =>
    made.put(`u${row}`, content, { isReadable: !spoils, modifiedAtMs: (stampMs += 1) });
  for (let row = 0; row < IDS; row += 1) write({ row, content: 0, spoils: false });
  await sync('FULL');
  for (const each of steps) {
    if (each.do === 'full') await sync('FULL');
    else if (each.do === 'incremental') await sync('INCREMENTAL');
    else if (each.do === 'write') write(each);
    else if (each.do === 'leave') made.rows = new Map([...made.rows].filter(([id]) => id !== `u${each.row}`));
    else if (each.do === 'restamp') {
      for (const { sourcedId, version, isReadable } of made.rows.values())
        made.put(sourcedId, version, { isReadable, modifiedAtMs: (stampMs += 1) });
    } else {
      const before = made.rows;
      made.amid = async () => {
        write(each);
        await sync('INCREMENTAL');
        made.rows = before;
      };
      await sync('FULL');
    }
  }
  for (let times = 0; times < 2; times += 1) await sync('FULL');
  return { reported, records: made.records, known: made.known };
}

const [does, row] = [
  (what: Step['do'], rest: object = {}) => ({ do: what, row: 0, content: 0, spoils: false, ...rest }),
  4,
];
const EXAMPLES: Step[][] = [
  // A row becomes unreadable and is again as it was.
  [does('write', { spoils: true }), does('full'), does('write')],
  // The same while its page is on the way, which does not show it.
  [does('incremental-within-full', { row, spoils: true })],
  // Another content and back, found by incremental syncs.
  [does('write', { row, content: 1 }), does('incremental'), does('write', { row })],
];

test('recognised pages report, count and publish exactly what they would if they were parsed', async () => {
  let known = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (all) => {
    const { known: some, ...recognising } = await play(new PageMemory(1), all);
    known += some;
    const { known: _, ...parsing } = await play(undefined, all);
    expect(recognising).toEqual(parsing);
  });
  await fc.assert(property, { numRuns: 120, examples: EXAMPLES.map((all) => [all]) });
  expect(known).toBeGreaterThan(400);
});

test('a recognised page is not taken unread, and marks no row, if an earlier page had one of its rows', () => {
  const seen = new SeenKeys(5);
  seen.add('b');
  const sync = madeSync('FULL', { seen });
  const running = new RunningSyncs();
  running.begin(sync);
  expect(running.markAllSeen(sync, new Fingerprints(['a', 'b'], 5))).toBe(false);
  expect(seen.size).toBe(1);
  expect(running.markAllSeen(sync, new Fingerprints(['c', 'd'], 5))).toBe(true);
  expect(seen.size).toBe(3);
});
