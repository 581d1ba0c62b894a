import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { OutgoingRecord } from '../../../src/log/log.ts';
import { collectionNamed } from '../../../src/model/collections.ts';
import { classStudentsSource, nestedSource } from '../../../src/source/source.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { tenantReader } from '../../simulation/tenants/tenant-row.ts';
import { LAST_PAGE, testHub, type Script } from '../hub/support/scripted-hub.ts';
import { madeCollection } from './support/made-collection.ts';

const { signal } = new AbortController();
const IDS = Array.from({ length: 12 }, (_, at) => `x${String(at + 1).padStart(2, '0')}`);

/** Twelve classes or afterschools with a row each, where one without rows has no list, and what the syncs of a session publish of them. */
async function openBench(name: 'class-students' | 'afterschool-users', ...more: string[]) {
  const clock = { nowMs: Date.parse('2026-03-10T09:00:00Z') };
  const rows = new Map([...IDS, ...more].map((id) => [id, [`${id}-a`]]));
  /** What it answers for an id instead of rows. */
  const refused = new Map<string, number>();
  const changedAtMs = new Map<string, number>();
  const unreadable = new Set<string>();
  const script: Script = ({ path, query }, response) => {
    const id = path.split('/').at(-2) ?? '';
    const afterMs = Date.parse(query.get('filter')?.split("'")[1] ?? '1969');
    const users = rows
      .get(id)
      ?.map((sourcedId) => ({ sourcedId, modifiedAtMs: changedAtMs.get(sourcedId) ?? 0, version: 1 }))
      .filter(({ modifiedAtMs }) => modifiedAtMs > afterMs)
      .map((row) => Object.assign(row, { isReadable: !unreadable.has(row.sourcedId) }));
    const headers = { ...LAST_PAGE, date: new Date(clock.nowMs).toUTCString() };
    response.writeHead(refused.get(id) ?? 200, { ...headers, 'x-total-count': String(users?.length) });
    response.end(JSON.stringify({ users }));
  };
  const test = await testHub(script);
  const options = { hub: test.hub, collection: collectionNamed(name) };
  const ids = [...rows.keys()];
  const records: OutgoingRecord[] = [];
  const own = await madeCollection({
    name,
    settings: { encodeReject: ({ reason }) => Buffer.from(reason) },
    tenant: { scopesAhead: 2 },
    runtime: { now: () => clock.nowMs, sleep: (ms) => delay(ms) },
    commit: (transaction) => {
      records.push(...transaction.records);
      return { committedAtMs: clock.nowMs };
    },
    own: {
      source:
        name === 'class-students'
          ? classStudentsSource({ ...options, classes: 'classes', classIds: () => Promise.resolve(ids) })
          : nestedSource({ ...options, reader: tenantReader, parentIds: ids }),
    },
  });
  const parts = { clock, rows, refused, changedAtMs, unreadable, records, own };
  return Object.assign(parts, {
    circuit: () => test.events.filter(({ type }) => type === 'circuit-opened'),
    sync: (mode: 'FULL' | 'INCREMENTAL') => runSync(own, mode, { signal }),
    /** What a consumer of a topic holds. */
    view: (of: string = name): Record<string, string> => {
      const view = new Map<string, string>();
      for (const { topic, key, body } of records) if (topic === of) view.set(key, String(body));
      return Object.fromEntries([...view].filter(([, body]) => body !== 'null'));
    },
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  });
}

const CLASS = ['class-students', 'class-students|x03'] as const;
const AFTERSCHOOL = ['afterschool-users', 'afterschool-users|x03%7C*'] as const;

it.each([
  [...CLASS, 403, 'HUB_FORBIDDEN'],
  [...CLASS, 503, 'HUB_UNAVAILABLE'],
  [...AFTERSCHOOL, 400, 'HUB_REQUEST_REFUSED'],
  [...AFTERSCHOOL, 503, 'HUB_UNAVAILABLE'],
])('a sync of %s reads all but %s while that is answered with %i', async (name, key, status, code) => {
  await using bench = await openBench(name);
  await bench.sync('FULL');
  bench.refused.set('x03', status);
  bench.rows.get('x12')?.push('new');
  // The confirming sync asks again where the trouble may pass.
  const confirmAtMs = status === 503 ? expect.any(Number) : null;
  expect(await bench.sync('FULL')).toMatchObject({ kind: 'complete', unconfirmed: 0, confirmAtMs });
  expect(bench.view('rejects')).toEqual({ [key]: `it cannot be read: ${code} (HTTP ${status})` });
  expect(JSON.stringify(bench.view())).toMatch(/x03-a.*new/);
  const published = bench.records.length;
  await bench.sync('FULL');
  expect(bench.records).toHaveLength(published);
  bench.refused.clear();
  expect(await bench.sync('FULL')).toMatchObject({ unconfirmed: 0, confirmAtMs: null });
  expect(bench.view('rejects')).toEqual({});
});

it('while one afterschool cannot be read, the others lose old rejects, and their new rows are published', async () => {
  await using bench = await openBench('afterschool-users');
  bench.unreadable.add('x02-a');
  await bench.sync('FULL');
  expect(Object.keys(bench.view('rejects'))).toEqual(['afterschool-users|x02%7Cx02-a']);
  bench.refused.set('x01', 403);
  bench.rows.set('x02', ['new']);
  expect(await bench.sync('FULL')).toMatchObject({ kind: 'complete' });
  expect(Object.keys(bench.view('rejects'))).toEqual(['afterschool-users|x01%7C*']);
  expect(bench.view()).toHaveProperty('x02|new');
});

it('an afterschool that can be read again brings its changes with the next incremental sync', async () => {
  await using bench = await openBench('afterschool-users');
  await bench.sync('FULL');
  bench.refused.set('x03', 503);
  bench.rows.get('x03')?.push('new');
  bench.changedAtMs.set('new', bench.clock.nowMs + 10_000);
  bench.clock.nowMs += 3_600_000;
  expect(await bench.sync('INCREMENTAL')).toMatchObject({ kind: 'complete' });
  expect(bench.own.writer.progress?.watermarkMs).toBe(bench.clock.nowMs);
  bench.refused.clear();
  await bench.sync('INCREMENTAL');
  expect(bench.view()).toHaveProperty('x03|new');
  expect(bench.view('rejects')).toEqual({});
});

it('the reject of an afterschool goes even if no other afterschool is left in the configuration', async () => {
  await using bench = await openBench('afterschool-users');
  bench.refused.set('x03', 403);
  await bench.sync('FULL');
  bench.refused.clear();
  const { open } = await bench.own.source.begin();
  const begin = () => Promise.resolve({ scopes: new Set(['x03']), open });
  await runSync({ ...bench.own, source: { ...bench.own.source, begin } }, 'INCREMENTAL', { signal });
  expect(bench.view('rejects')).toEqual({});
});

it('classes that answer 500, or whose id fits in no address, harm no other class and no circuit', async () => {
  await using bench = await openBench('class-students', '.');
  bench.refused.set('x03', 500).set('x04', 500);
  expect(await bench.sync('FULL')).toMatchObject({ kind: 'complete' });
  const unavailable = 'it cannot be read: HUB_UNAVAILABLE (HTTP 500)';
  expect(bench.view('rejects')).toEqual({
    'class-students|x03': unavailable,
    'class-students|x04': unavailable,
    'class-students|.': 'Rollcall cannot request class-students by an id that cannot be part of an address',
  });
  expect([Object.keys(bench.view()), bench.circuit()]).toMatchObject([{ length: 10 }, []]);
});

it('the watermark stays after a sync of some afterschools, if a full sync was inconclusive', async () => {
  await using bench = await openBench('afterschool-users');
  await bench.sync('FULL');
  const watermarkMs = bench.own.writer.progress?.watermarkMs;
  bench.rows.delete('x03');
  expect(await bench.sync('FULL')).toMatchObject({ kind: 'inconclusive' });
  bench.rows.set('x03', ['x03-a']);
  bench.clock.nowMs += 3_600_000;
  const given = { by: 'kari', from: 'office', reason: null, digest: '0', atMs: 0 };
  const approved = { keys: new Set(['x01|x01-a']), given };
  expect(await runSync(bench.own, 'FULL', { signal, approved })).toMatchObject({ kind: 'complete' });
  expect(await bench.sync('INCREMENTAL')).toMatchObject({ kind: 'complete' });
  expect(bench.own.writer.progress?.watermarkMs).toBe(watermarkMs);
});
