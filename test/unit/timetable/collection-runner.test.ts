import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import type { ScanEvidence } from '../../../src/core/deletions/evidence.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import { Semaphore, Turns } from '../../../src/semaphore.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { Progress, SyncMode } from '../../../src/model/progress.ts';
import type { MirroredCollection } from '../../../src/sync/sync.ts';
import type { ReplacedSync, SyncResult } from '../../../src/sync/sync-result.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { CollectionRunner, Syncs } from '../../../src/timetable/collection-runner.ts';
import { syncRequests } from '../../../src/timetable/sync-requests.ts';
import { inOrder } from '../../../src/timetable/in-order.ts';
import type { SyncTimetable } from '../../../src/timetable/sync-timetable.ts';
import { madeCollection } from '../pipeline/support/made-collection.ts';
import { MadeHub } from '../pipeline/support/made-hub.ts';

const { signal } = new AbortController();
const AWAY = new HubError('HUB_UNREACHABLE', 'away', { remedy: '' });

/** Sleeps until the signal aborts, however long it is to sleep. */
const sleep = (_ms: number, aborted: AbortSignal): Promise<void> =>
  new Promise((_, reject) => aborted.addEventListener('abort', () => reject(new Error('aborted'))));

const made = (given: Partial<Parameters<typeof madeCollection>[0]> = {}): Promise<MirroredCollection> =>
  madeCollection({ commit: () => Promise.reject(new Error('nothing is committed')), ...given });

function statsOf(mode: SyncMode, rowsCreated = 0) {
  return Object.assign(newSyncStats({ syncId: mode, mode, startedAtMs: 0 }), { rowsCreated });
}

function complete(mode: SyncMode, rowsCreated = 0): SyncResult {
  const nothing = { rowsOnHold: 0, short: null, unconfirmed: 0, confirmAtMs: null };
  return { kind: 'complete', stats: statsOf(mode, rowsCreated), ...nothing };
}

/** Syncs that come to the given results, one after another and then to complete ones, with the modes that ran. */
function syncsOf(own: MirroredCollection, results: (SyncResult | ReplacedSync | Error)[] = []) {
  const modes: SyncMode[] = [];
  const timetable = {
    canBeIncremental: true,
    hasIncremental: true,
    mayBringChanges: true,
    noteFilterRefused: () => void (timetable.canBeIncremental = false),
  };
  const syncs = new Syncs(own, timetable as unknown as SyncTimetable);
  syncs.run = async (mode) => {
    modes.push(mode);
    const result = results.shift() ?? complete(mode);
    if (result instanceof Error) throw result;
    return result;
  };
  return { syncs, modes };
}

/** Syncs with none beside a full one. */
const alone = async (...results: (SyncResult | ReplacedSync | Error)[]) => {
  const own = await made({ runtime: { sleep } });
  return { ...syncsOf(own, results), findings: own.findings };
};

it('an incremental sync of too many rows becomes a full sync', async () => {
  const stats = statsOf('INCREMENTAL', 3);
  const oversized = { kind: 'becomes-full', why: 'oversized', stats } as const;
  const { syncs, modes } = await alone(oversized, complete('FULL', 4));
  expect((await syncs.withFollowUps('INCREMENTAL', { signal })).stats.rowsCreated).toBe(4);
  expect(modes).toEqual(['INCREMENTAL', 'FULL']);
});

const refusedWith = (status: number) =>
  new HubError('HUB_REQUEST_REFUSED', 'refused', { remedy: '', status });

it.each([400, 422])(
  'full syncs replace incremental ones after the hub answers the filter by time with %i',
  async (status) => {
    const { syncs, modes } = await alone(refusedWith(status));
    await syncs.withFollowUps('INCREMENTAL', { signal });
    await syncs.withFollowUps('INCREMENTAL', { signal });
    expect(modes).toEqual(['INCREMENTAL', 'FULL', 'FULL']);
  },
);

it.each([AWAY, ...[302, 304, 402, 406, 409, 413, 451].map(refusedWith)])(
  'after an incremental sync fails with $message (HTTP $status), the next one is incremental, too',
  async (failure) => {
    const { syncs, modes } = await alone(failure);
    await expect(syncs.withFollowUps('INCREMENTAL', { signal })).rejects.toBe(failure);
    await syncs.withFollowUps('INCREMENTAL', { signal });
    expect(modes).toEqual(['INCREMENTAL', 'INCREMENTAL']);
  },
);

it('an incremental sync that is short becomes a full sync', async () => {
  const way = { scope: '', reason: 'no-next-link', paging: 'keyset', rowsWithoutId: 0 };
  const scan: ScanEvidence = { ...way, rows: 2, distinctRows: 2, totalAtStart: 3, totalAtEnd: 3 };
  const short = { kind: 'becomes-full', why: 'short', stats: statsOf('INCREMENTAL') } as const;
  const { syncs, modes, findings } = await alone(short);
  const isShort = (given: Partial<ScanEvidence> = {}) => findings.isShortIncremental({ ...scan, ...given });
  expect(isShort()).toBe(true);
  await syncs.withFollowUps('INCREMENTAL', { signal });
  expect([modes, isShort()]).toEqual([['INCREMENTAL', 'FULL'], false]);
  // Until the next daily sync; a confirming one changes nothing.
  const full = { isInconclusive: false, scans: [{ ...scan, totalAtEnd: 40 }] };
  findings.noteFullSync({ ...full, scans: [], isConfirming: true });
  expect(isShort()).toBe(false);
  findings.noteFullSync({ ...full, isConfirming: false });
  // A total that equals the unfiltered one says nothing.
  expect([isShort(), isShort({ totalAtStart: 40, totalAtEnd: 40 })]).toEqual([true, false]);
});

/** One turn, which another tenant has until `release` is called. */
async function takenTurn() {
  const permits = new Semaphore(1);
  const release = await permits.acquire(signal);
  return { permits, release, fullSyncs: new Turns(permits, 3_600_000) };
}

/** Syncs with an incremental one beside a full one at each turn of the event loop. */
async function waiting() {
  const turn = await takenTurn();
  const own = await made({
    tenant: { fullSyncs: turn.fullSyncs },
    runtime: { sleep: () => nextTurn(undefined) },
    start: { progress: { watermarkMs: 1 } as Progress },
  });
  return { ...turn, ...syncsOf(own) };
}

it('a full sync that is due waits for its turn, while incremental syncs go on', async () => {
  const { release, permits, syncs, modes } = await waiting();
  const full = syncs.withFollowUps('FULL', { signal, untilTurn: signal });
  await vi.waitFor(() => expect(modes.length).toBeGreaterThan(5), 10_000);
  expect(modes).not.toContain('FULL');
  release();
  expect((await full).stats.mode).toBe('FULL');
  expect(modes.filter((mode) => mode === 'FULL')).toHaveLength(1);
  expect(permits.tryAcquire()).toBeTypeOf('function');
});

it('a due full sync that waits for its turn ends without reading when something else comes first', async () => {
  const { release, permits, syncs, modes } = await waiting();
  const first = new AbortController();
  const full = syncs.withFollowUps('FULL', { signal, untilTurn: first.signal });
  await vi.waitFor(() => expect(modes).toContain('INCREMENTAL'), 10_000);
  const reason = new Error('a request comes first');
  first.abort(reason);
  await expect(full).rejects.toBe(reason);
  release();
  expect([modes.includes('FULL'), permits.tryAcquire()]).toEqual([false, expect.any(Function)]);
});

/** A runner whose syncs fail with an error before they read anything. */
async function failingRunner(
  failure: Error,
  tenant: Partial<Tenant> = {},
  now = () => 0,
  start: { progress?: Progress } = {},
) {
  const events: PipelineEvent[] = [];
  const own = await made({
    start,
    tenant: { ...tenant, emit: (event) => events.push(event) },
    runtime: { now, sleep },
    own: { requireRecords: () => Promise.reject(failure) },
  });
  return { runner: new CollectionRunner(own), events };
}

it('a requested full sync runs while a due one waits for its turn, and no turn stays taken', async () => {
  const { permits, release, fullSyncs } = await takenTurn();
  const { runner, events } = await failingRunner(AWAY, { fullSyncs }, Date.now);
  const stop = new AbortController();
  const loop = runner.loop(stop.signal);
  const types = () => events.map(({ type }) => type);
  await vi.waitFor(() => expect(types()).toEqual(['full-sync-waits']), 10_000);
  await expect(runner.request('FULL')).rejects.toBe(AWAY);
  expect(types()).toEqual(['full-sync-waits', 'sync-started', 'sync-failed']);
  stop.abort(new Error('stopping'));
  await loop;
  release();
  expect(permits.tryAcquire()).toBeTypeOf('function');
});

it('a requested confirming sync that is not needed runs only if a hold that is over put removals off', async () => {
  const deletions = { onHoldSinceMs: null as number | null };
  const progress = (rowsOnHold: number) => ({ rowsOnHold, deletions }) as Progress;
  const once = async (rowsOnHold: number) => {
    const { runner } = await failingRunner(AWAY, {}, () => 0, { progress: progress(rowsOnHold) });
    return runner.once('FULL', { confirming: true, signal });
  };
  expect(await once(0)).toMatchObject({ kind: 'complete', rowsOnHold: 0 });
  await expect(once(1)).rejects.toBe(AWAY);
  deletions.onHoldSinceMs = 1;
  expect(await once(1)).toMatchObject({ kind: 'complete', rowsOnHold: 1 });
});

it('a pull takes the result of an earlier confirming sync only until another full sync has ended', async () => {
  const hub = new MadeHub(10);
  for (const id of ['a', 'b', 'c']) hub.put(id, 1);
  const own = await hub.session();
  Object.assign(own.tenant.runtime, { sleep });
  const runner = new CollectionRunner(own);
  await runner.once('FULL', { signal });
  hub.rows = new Map([...hub.rows].slice(1));
  expect(await runner.once('FULL', { signal })).toMatchObject({ unconfirmed: 1 });
  hub.nowMs += 300_000;
  const stop = new AbortController();
  const loop = runner.loop(stop.signal);
  await vi.waitFor(() => expect(own.deletions.missing?.confirmAtMs).toBeNull(), 10_000);
  stop.abort();
  await loop;
  const confirm = () => runner.once('FULL', { confirming: true, signal });
  expect((await confirm()).stats.rowsRemoved).toBe(1);
  await runner.once('FULL', { signal });
  expect((await confirm()).stats.rowsRemoved).toBe(0);
});

it('a pull syncs collections on hold and their parents before the others, whose removals wait for them', async () => {
  const begun = async (...onHold: CollectionName[]) => {
    const names = ['users', 'class-students', 'classes', 'orgs'] as const;
    const runners = names.map((name) => {
      const progress = { deletions: { onHoldSinceMs: onHold.includes(name) ? 1 : null } } as Progress;
      return [name, { parents: name === 'class-students' ? 'classes' : undefined, progress }] as const;
    });
    const order: string[] = [];
    const task = async (name: CollectionName) => {
      order.push(`${name} begins`);
      await nextTurn();
      order.push(`${name} ends`);
      return name;
    };
    expect(await inOrder(new Map(runners), names, task)).toEqual(names);
    return (one: string, other: string) => order.indexOf(`${one} ends`) < order.indexOf(`${other} begins`);
  };
  const usual = await begun();
  expect([usual('classes', 'class-students'), usual('orgs', 'users')]).toEqual([true, false]);
  expect((await begun('orgs'))('orgs', 'users')).toBe(true);
  const nestedOnHold = await begun('class-students');
  expect([nestedOnHold('classes', 'class-students'), nestedOnHold('class-students', 'users')]).toEqual([
    true,
    true,
  ]);
});

it.each([
  [undefined, 2_000],
  [500, 2_000],
  [15_000, 15_000],
  [31_536_000_000, 600_000],
])('a failed sync with a Retry-After of %s ms is repeated in %i ms', async (retryAfterMs, retryInMs) => {
  const error = new HubError('HUB_UNAVAILABLE', 'Busy', { remedy: 'Wait.', retryAfterMs });
  const { runner, events } = await failingRunner(error);
  await expect(runner.once('FULL', { signal })).rejects.toBe(error);
  expect(events).toContainEqual(expect.objectContaining({ type: 'sync-failed', retryInMs }));
});

it('a refused client is tried again within seconds, since its secret may have been corrected', async () => {
  const refusal = { remedy: 'Check it.', retryable: false, retryAfterMs: 600_000 };
  const error = new HubError('HUB_TOKEN_REFUSED', 'No token', refusal);
  const { runner, events } = await failingRunner(error);
  for (let syncs = 0; syncs < 9; syncs += 1)
    await expect(runner.once('FULL', { signal })).rejects.toBe(error);
  const waits = events.flatMap((event) => (event.type === 'sync-failed' ? [event.retryInMs] : []));
  expect(waits).toHaveLength(9);
  expect(Math.max(...waits.map((ms) => ms ?? Infinity))).toBeLessThanOrEqual(15_000);
});

it('requested syncs are taken in their order, and each request ends with the outcome of its sync', async () => {
  const requests = syncRequests(sleep);
  const first = requests.add('FULL', {});
  const second = requests.add('INCREMENTAL', {});
  await requests.rest(3_600_000, signal);
  const result = { kind: 'complete' } as SyncResult;
  requests.takeFirst()?.done.resolve(result);
  expect([await first, requests.takeFirst()?.mode, requests.takeFirst()]).toEqual([
    result,
    'INCREMENTAL',
    undefined,
  ]);
  const rest = requests.rest(3_600_000, signal);
  const third = requests.add('FULL', {});
  await rest;
  const end = new Error('the log failed');
  requests.end(end);
  for (const waiting of [third, requests.add('FULL', {})]) await expect(waiting).rejects.toBe(end);
  void second;
});
