import { afterEach, describe, expect, it } from 'vitest';
import type { HubEvent } from '../../../src/core/hub-events.ts';
import { RollcallError } from '../../../src/errors.ts';
import { heardOf } from '../../../src/core/health/tenant-status.ts';
import { TENANT_PARTS } from '../../../src/core/health/tenant-facts.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { startStatusServer, type StatusServer } from '../../../src/telemetry/http-server.ts';
import { boardOf, caughtUp, loaded, syncEnded } from './support/board-of.ts';

const START_MS = Date.parse('2026-11-20T12:00:00Z');
const MINUTE_MS = 60_000;
const open: StatusServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

type World = ReturnType<typeof boardOf>;
type Tenant = { collections: Record<string, unknown>[] };

function wellWorld(): World {
  const world = boardOf(START_MS);
  world.isWell();
  return world;
}

/**
 * Asks `/readyz`, `/status.json`, the metrics, and the heartbeat, which `status` in another process prints: all must
 * give these parts as reasons, none if it is ready. Returns the metrics.
 */
async function expectHealth({ board, registry }: World, state: string, ...parts: string[]): Promise<string> {
  const server = await startStatusServer({ host: '127.0.0.1', port: 0, board, metrics: registry });
  open.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  const readyz = await fetch(`${url}/readyz`);
  const { reasons } = (await readyz.json()) as { reasons: { part: string }[] };
  const json = (await (await fetch(`${url}/status.json?details=north`)).json()) as {
    ready: boolean;
    tenants: { state: string; headline: string; reasons: { part: string }[] }[];
  };
  const text = await (await fetch(`${url}/metrics`)).text();
  const unready = [...text.matchAll(/^rollcall_ready\{tenant="north",part="(\w+)"\} 0$/gm)];
  const heartbeat = { owner: 'vm-1', ownedSinceMs: START_MS, info: board.heartbeatOf('north') };
  const { health } = heardOf(heartbeat, '1.2.3');
  expect({ ...health, isHere: true }).toEqual(json.tenants[0]);
  expect({
    code: readyz.status,
    readyz: reasons.map(({ part }) => part).toSorted(),
    json: json.tenants[0]?.reasons.map(({ part }) => part).toSorted(),
    isReady: json.ready,
    state: json.tenants[0]?.state,
    metrics: unready.map(([, part = '']) => part).toSorted((one, other) => one.localeCompare(other)),
  }).toEqual({
    code: parts.length === 0 ? 200 : 503,
    readyz: parts,
    json: parts,
    isReady: parts.length === 0,
    state,
    metrics: parts,
  });
  return text;
}

const hub = (event: HubEvent) => ({ type: 'hub', event }) as const;
const requestStarted = hub({ type: 'request-started', target: 'users' });
const requestDone = (target: 'users' | 'schedules') =>
  hub({ type: 'request-done', target, status: 200, durationMs: 1, bytes: 2 });
const requestFailed = (
  code: 'INTERNAL' | 'HUB_TIMEOUT' | 'HUB_UNREACHABLE',
  target: 'users' | 'schedules' = 'users',
) => hub({ type: 'request-failed', target, code, status: null, durationMs: 2 });

describe('one health, asked in five ways', () => {
  it('a tenant that needs a person has failed, for no other reason, until a session opens', async () => {
    const world = wellWorld();
    world.emit(requestStarted, requestFailed('HUB_UNREACHABLE'));
    const error = new RollcallError('KAFKA_TOPIC_MISMATCH', 'Topics differ', { remedy: 'Mend them.' });
    world.emit({ type: 'tenant-failed', error, retryInMs: MINUTE_MS });
    await expectHealth(world, 'in-trouble', 'failed');
    expect(world.board.tenants[0]?.status().headline).toBe('failed: KAFKA_TOPIC_MISMATCH: Topics differ');
    world.isWell();
    await expectHealth(world, 'well');
  });

  it('a hub that refuses connections shows within 20 s, before the sync gives up', async () => {
    const world = wellWorld();
    await expectHealth(world, 'well');
    world.emit(requestStarted, requestFailed('HUB_UNREACHABLE'));
    world.passes(20_000);
    await expectHealth(world, 'in-trouble', 'hub');
  });

  it('a hub is not blamed for the requests that end with a session, nor for what failed before it ended', async () => {
    for (const code of ['INTERNAL', 'HUB_TIMEOUT'] as const) {
      const world = wellWorld();
      const full = new RollcallError('INDEX_REFUSED', 'Redis is full', { remedy: 'Raise maxmemory.' });
      world.emit(requestStarted, requestFailed(code), {
        type: 'session-failed',
        error: full,
        retryInMs: 1_000,
      });
      if (code === 'INTERNAL') world.emit(requestFailed(code));
      world.passes(27_000);
      await expectHealth(world, 'in-trouble', 'pipeline', 'redis');
    }
  });

  it('a hub that takes requests and answers none shows within a minute, before the first time-out', async () => {
    const world = wellWorld();
    world.emit(requestStarted);
    world.passes(29_000);
    await expectHealth(world, 'well');
    world.passes(2_000);
    await expectHealth(world, 'in-trouble', 'hub');
    world.emit(requestDone('users'));
    await expectHealth(world, 'well');
  });

  it('a watermark grows old while nothing happens at all', async () => {
    const world = wellWorld();
    world.passes(9 * MINUTE_MS);
    await expectHealth(world, 'well');
    world.passes(MINUTE_MS);
    expect(await expectHealth(world, 'late', 'watermark')).toContain(
      `rollcall_watermark_timestamp_seconds{tenant="north",collection="users"} ${(START_MS - 6 * MINUTE_MS) / 1000}\n`,
    );
  });

  it('a collection that was never loaded shows, and its last complete sync has the value 0', async () => {
    const world = boardOf(START_MS);
    world.emit({ type: 'owned', owner: 'vm-1' }, caughtUp('users', loaded('users', START_MS)));
    world.emit(caughtUp('orgs', null), { type: 'session-opened' });
    expect(await expectHealth(world, 'loading', 'load')).toContain(
      'rollcall_last_complete_sync_timestamp_seconds{tenant="north",collection="orgs",mode="full"} 0\n',
    );
  });

  it('a hub whose clock is days behind is not taken for a copy that is days old', async () => {
    const world = wellWorld();
    const behindMs = 3 * 24 * 60 * MINUTE_MS;
    const stats = newSyncStats({ syncId: 'p3', mode: 'INCREMENTAL', startedAtMs: START_MS - behindMs });
    for (const collection of ['users', 'orgs'] as const)
      world.emit(syncEnded({ collection, stats, progress: loaded(collection, START_MS - behindMs) }));
    expect(await expectHealth(world, 'well')).toContain(
      `rollcall_watermark_timestamp_seconds{tenant="north",collection="users"} ${(START_MS - 6 * MINUTE_MS) / 1000}\n`,
    );
  });

  it('a Core API that fails alone shows, whatever the rest of the hub answers', async () => {
    const world = wellWorld();
    world.emit(requestFailed('HUB_TIMEOUT', 'schedules'));
    world.passes(15_000);
    world.emit(requestDone('users'));
    await expectHealth(world, 'in-trouble', 'hub');
    world.emit(requestDone('schedules'));
    await expectHealth(world, 'well');
  });

  it('withheld deletions leave the process ready, and need a decision until one is made', async () => {
    const world = wellWorld();
    const rest = { settledBy: 'p1', day: '2026-11-20', removed: 0, why: null, approval: null };
    for (const [heldSinceMs, rowsWithheld, state] of [
      [START_MS, 7, 'needs-person'],
      [null, 0, 'well'],
    ] as const) {
      const progress = { ...loaded('users', START_MS), rowsWithheld, deletions: { ...rest, heldSinceMs } };
      const stats = newSyncStats({ syncId: 'p3', mode: 'FULL', startedAtMs: START_MS });
      world.emit(syncEnded({ stats, progress }));
      const text = await expectHealth(world, state);
      const scope = '{tenant="north",collection="users"}';
      expect(text).toContain(`rollcall_needs_decision${scope} ${rowsWithheld === 0 ? 0 : 1}\n`);
      expect(text).toContain(`rollcall_deletions_withheld${scope} ${rowsWithheld}\n`);
    }
  });

  it.each([
    ['a hub that counts more rows than it returns', 'short', 'FULL', { rows: 190, total: 250 }],
    ['an incremental sync that proved nothing', 'hub', 'INCREMENTAL', null],
  ] as const)('%s is a reason, until a sync like it is complete', async (_, part, mode, short) => {
    const world = wellWorld();
    const stats = newSyncStats({ syncId: 'p3', mode, startedAtMs: START_MS });
    const ended = { mode, stats, progress: loaded('users', START_MS) };
    world.emit(syncEnded({ ...ended, outcome: 'inconclusive', why: '190 of 250 rows came', short }));
    await expectHealth(world, 'in-trouble', part);
    expect(JSON.stringify(await world.board.json())).toContain('190 of 250 rows');
    world.emit(syncEnded(ended));
    await expectHealth(world, 'well');
  });
});

describe('a process without tenants', () => {
  it('is ready, unless it could not mirror the next one', () => {
    const { board } = boardOf(START_MS);
    board.hold([]);
    expect(board.reasons()).toEqual([]);
    board.report('redis', { why: 'away', remedy: 'look' });
    expect(board.reasons()).toMatchObject([{ part: 'redis', why: 'away' }]);
    board.report('redis', null);
    expect(board.reasons()).toEqual([]);
  });
});

describe('the sync in progress', () => {
  it('is over when a full sync of some scopes ends, although its record is that of an incremental one', async () => {
    const world = wellWorld();
    world.emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
    const stats = newSyncStats({ syncId: 'p3', mode: 'INCREMENTAL', startedAtMs: START_MS });
    world.emit(syncEnded({ stats, progress: loaded('users', START_MS) }));
    expect(JSON.stringify(await world.board.json(['north']))).not.toContain('"running":{');
  });

  it('waits for its turn until it begins, or its session ends', async () => {
    const world = wellWorld();
    const isWaiting = async (): Promise<boolean> =>
      JSON.stringify(await world.board.json(['north'])).includes('"isWaiting":true');
    world.emit({ type: 'full-sync-waits', collection: 'users' });
    world.emit({ type: 'sync-started', collection: 'users', mode: 'INCREMENTAL' });
    expect(await isWaiting()).toBe(true);
    world.emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
    expect(await isWaiting()).toBe(false);
    world.emit({ type: 'full-sync-waits', collection: 'users' });
    world.emit({ type: 'session-failed', error: new Error('over'), retryInMs: 1_000 });
    expect(await isWaiting()).toBe(false);
  });

  it('has the rows seen and expected', async () => {
    const world = wellWorld();
    const stats = newSyncStats({ syncId: 'p3', mode: 'FULL', startedAtMs: START_MS });
    Object.assign(stats, { rowsSeen: 4, totalAtStart: 20 });
    const none = { stale: 0, over: 0, repeated: 0, rejected: 0, withoutId: 0 };
    const tally = { ...none, seen: 4, unchanged: 1, created: 2, updated: 1 };
    world.emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
    world.emit({ type: 'sync-page', collection: 'users', stats, tally });
    const [tenant] = (await world.board.json(['north']))['tenants'] as Tenant[];
    const users = tenant?.collections.find(({ collection }) => collection === 'users');
    expect(users).toMatchObject({ running: { mode: 'FULL', seen: 4, expected: 20 } });
  });
});

describe('the health in a heartbeat', () => {
  it('is bounded, however long the messages of services are', () => {
    const world = wellWorld();
    for (const part of TENANT_PARTS)
      world.board.report(part, { why: 'x'.repeat(9_000), remedy: 'y'.repeat(9_000) });
    const { health = '' } = world.board.heartbeatOf('north');
    expect(health.length).toBeLessThan(25_000);
  });
});
