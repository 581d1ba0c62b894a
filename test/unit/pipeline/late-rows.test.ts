import { expect, it } from 'vitest';
import { runSync } from '../../../src/sync/run-sync.ts';
import type { Reading } from '../../../src/source/source-scan.ts';
import { MadeHub } from './support/made-hub.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const { signal } = new AbortController();

/** A hub whose rows are visible at once, and were modified a month ago. */
function loaded(): MadeHub {
  const hub = new MadeHub(100);
  for (let at = 0; at < 20; at += 1) hub.put(`u${at}`, 1, { modifiedAtMs: hub.nowMs - 30 * DAY });
  return hub;
}

/** The same, once a first full sync has published all. */
async function synced() {
  const hub = loaded();
  const parts = await hub.session();
  await runSync(parts, 'FULL', { signal });
  return { hub, parts };
}

it('the watermark of a sync of several scans follows from the earliest page of them all', async () => {
  const hub = new MadeHub(100);
  const { nowMs } = hub;
  const reading: Reading = {
    scopes: new Set(['a', 'b']),
    open: async function* (scope) {
      const hubTimeMs = scope === 'a' ? nowMs + MINUTE : nowMs;
      yield { rows: [], hubTimeMs, total: 0, readVersion: 0 };
      return { reason: 'no-rows', paging: 'keyset', rows: 0, totalAtStart: 0, totalAtEnd: 0 };
    },
  };
  const session = await hub.session({ overlapMs: 5 * MINUTE });
  const source = { ...session.source, begin: () => Promise.resolve(reading) };
  const parts = { ...session, tenant: { ...session.tenant, scopesAhead: 1 }, source };
  expect(await runSync(parts, 'FULL', { signal })).toMatchObject({ kind: 'complete' });
  expect(parts.writer.progress?.watermarkMs).toBe(nowMs - 5 * MINUTE);
});

it('a sync of some scopes sets no watermark before a sync of all scopes has set one', async () => {
  const session = await new MadeHub(100).session();
  const { open } = await session.source.begin();
  const reading = { scopes: new Set(['a', 'b']), open };
  const source = { ...session.source, begin: () => Promise.resolve(reading), scopeOf: (key: string) => key };
  const given = { by: 'kari', from: 'office', reason: null, digest: '0', atMs: 0 };
  const approved = { keys: new Set(['a']), given };
  await runSync({ ...session, source }, 'FULL', { signal, approved });
  expect(session.writer.progress).toMatchObject({ watermarkMs: null, lastCompleteFull: null });
});

it.each([
  ['is not suspected if the filter by time selects nothing', false, 2, true],
  ['that is too small is noticed by the next full sync', true, 1, null],
])('incrementalOverlap %s', async (_, filterSelects, rowsLate, filterSelectsNothing) => {
  const hub = loaded();
  hub.filterSelects = filterSelects;
  const parts = await hub.session({ overlapMs: 5 * MINUTE });
  await runSync(parts, 'FULL', { signal });
  for (let minute = 1; minute <= 60; minute += 1) {
    hub.nowMs += MINUTE;
    if (minute === 10) hub.put('met', 1);
    // The row is stamped twelve minutes before it is visible.
    if (minute === 30) hub.put('late', 1, { modifiedAtMs: hub.nowMs - 12 * MINUTE });
    await runSync(parts, 'INCREMENTAL', { signal });
  }
  // One row changed under a timestamp of last month, and one is re-stamped.
  hub.put('u1', 2, { modifiedAtMs: hub.nowMs - 30 * DAY });
  hub.put('u2', 2);
  const result = await runSync(parts, 'FULL', { signal });
  expect(result).toMatchObject({
    kind: 'complete',
    stats: { rowsCreated: rowsLate, rowsUpdated: 2, rowsLate, filterSelectsNothing },
  });
  // A second full sync at once has nothing to judge by.
  expect(await runSync(parts, 'FULL', { signal })).toMatchObject({ stats: { rowsLate: null } });
});

it('a full sync that brings a row without an id counts no miss, as this may be any missing row', async () => {
  const { hub, parts } = await synced();
  hub.rows = new Map([...hub.rows].slice(1));
  hub.put('', 1, { isReadable: false });
  const nothing = { short: null, stats: { rowsRemoved: 0 } };
  for (let times = 0; times < 3; times += 1) {
    expect(await runSync(parts, 'FULL', { signal })).toMatchObject(nothing);
    const waits = { rows: 19, rowsNotFound: 1, rowsRejected: 1, rowsWithoutId: 1 };
    expect(parts.writer.progress?.lastCompleteFull).toMatchObject(waits);
  }
});

it('a complete full sync counts each key of the topic, as found at the hub or as not found', async () => {
  const { hub, parts } = await synced();
  hub.rows = new Map([...hub.rows].slice(1));
  // A key whose row becomes unreadable keeps its value; an unreadable row that is new has no key.
  for (const id of ['u1', 'new']) hub.put(id, 2, { isReadable: false });
  for (const rowsNotFound of [1, 0]) {
    await runSync(parts, 'FULL', { signal });
    const counts = { rows: 19, rowsNotFound, rowsRejected: 2, rowsWithoutId: 0 };
    expect(parts.writer.progress?.lastCompleteFull).toMatchObject(counts);
    expect(parts.writer.known.rows).toBe(19 + rowsNotFound);
  }
});

it('rows that are older than their published versions are counted, as from a replica that lags', async () => {
  const { hub, parts } = await synced();
  const older: number[] = [];
  for (const [version, modifiedAtMs] of [
    [2, hub.nowMs + 2],
    [1, hub.nowMs + 1],
    [2, hub.nowMs + 2],
  ] as const) {
    hub.put('u1', version, { modifiedAtMs });
    older.push((await runSync(parts, 'FULL', { signal })).stats.rowsOlder);
  }
  expect(older).toEqual([0, 1, 0]);
});
