import { afterEach, describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { heardOf } from '../../../src/core/health/tenant-status.ts';
import { TENANT_PARTS } from '../../../src/core/health/tenant-facts.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { startStatusServer, type StatusServer } from '../../../src/telemetry/http-server.ts';
import { boardOf, caughtUp, loaded } from './support/board-of.ts';

const START_MS = Date.parse('2026-11-20T12:00:00Z');
const MINUTE_MS = 60_000;
const open: StatusServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

type World = ReturnType<typeof boardOf>;
type Tenant = { collections: Record<string, unknown>[] };

/** Asks `/readyz`, `/status.json`, the metrics, and the heartbeat, which `status` in another process prints: all must agree. */
async function answers({ board, registry }: World) {
  const server = await startStatusServer({
    host: '127.0.0.1',
    port: 0,
    board,
    metrics: registry,
  });
  open.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  const readyz = await fetch(`${url}/readyz`);
  const { reasons } = (await readyz.json()) as { reasons: { part: string }[] };
  const json = (await (await fetch(`${url}/status.json?details=north`)).json()) as {
    ready: boolean;
    tenants: { state: string; headline: string; reasons: { part: string }[] }[];
  };
  const text = await (await fetch(`${url}/metrics`)).text();
  const unready = [...text.matchAll(/^rollcall_ready\{tenant="north",part="(\w+)"\} 0$/gm)].map(
    ([, part]) => part,
  );
  const heartbeat = { owner: 'vm-1', ownedSinceMs: START_MS, info: board.heartbeatOf('north') };
  const { health } = heardOf(heartbeat, '1.2.3');
  expect({ ...health, isHere: true }).toEqual(json.tenants[0]);
  return {
    code: readyz.status,
    readyz: reasons.map(({ part }) => part).sort(),
    json: json.tenants[0]?.reasons.map(({ part }) => part).sort(),
    isReady: json.ready,
    state: json.tenants[0]?.state,
    metrics: unready.sort((one = '', other = '') => one.localeCompare(other)),
    text,
  };
}

describe('one health, asked in five ways', () => {
  it('is ready everywhere when everything is as promised', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    expect(await answers(world)).toMatchObject({
      code: 200,
      readyz: [],
      json: [],
      isReady: true,
      state: 'well',
      metrics: [],
    });
  });

  it('a hub that refuses connections shows within 20 s, before the sync gives up', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    const failed = {
      type: 'request-failed',
      target: 'users',
      code: 'HUB_UNREACHABLE',
      status: null,
      durationMs: 2,
    } as const;
    world.emit(
      { type: 'hub', event: { type: 'request-started', target: 'users' } },
      { type: 'hub', event: failed },
    );
    world.passes(20_000);
    expect(await answers(world)).toMatchObject({
      code: 503,
      readyz: ['hub'],
      json: ['hub'],
      state: 'in-trouble',
      metrics: ['hub'],
    });
  });

  it('a hub is not blamed for the requests that end with a session, nor for what failed before it ended', async () => {
    for (const code of ['INTERNAL', 'HUB_TIMEOUT'] as const) {
      const world = boardOf(START_MS);
      world.isWell();
      const failed = { type: 'request-failed', target: 'users', code, status: null, durationMs: 2 } as const;
      const full = new RollcallError('INDEX_REFUSED', 'Redis is full', { remedy: 'Raise maxmemory.' });
      world.emit(
        { type: 'hub', event: { type: 'request-started', target: 'users' } },
        { type: 'hub', event: failed },
        { type: 'session-failed', error: full, retryInMs: 1_000 },
      );
      if (code === 'INTERNAL') world.emit({ type: 'hub', event: failed });
      world.passes(27_000);
      expect((await answers(world)).readyz).toEqual(['pipeline', 'redis']);
    }
  });

  it('a hub that takes requests and answers none shows within a minute, before the first time-out', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    world.emit({ type: 'hub', event: { type: 'request-started', target: 'users' } });
    world.passes(29_000);
    expect(await answers(world)).toMatchObject({ code: 200 });
    world.passes(2_000);
    expect(await answers(world)).toMatchObject({
      readyz: ['hub'],
      json: ['hub'],
      metrics: ['hub'],
      state: 'in-trouble',
    });
    const done = {
      type: 'request-done',
      target: 'users',
      status: 200,
      durationMs: 31_000,
      bytes: 2,
    } as const;
    world.emit({ type: 'hub', event: done });
    expect(await answers(world)).toMatchObject({ code: 200 });
  });

  it('a watermark grows old while nothing happens at all', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    world.passes(9 * MINUTE_MS);
    expect(await answers(world)).toMatchObject({ code: 200, state: 'well' });
    world.passes(MINUTE_MS);
    const late = await answers(world);
    expect(late).toMatchObject({
      code: 503,
      readyz: ['watermark'],
      json: ['watermark'],
      state: 'late',
      metrics: ['watermark'],
    });
    expect(late.text).toContain(
      `rollcall_watermark_timestamp_seconds{tenant="north",collection="users"} ${(START_MS - 6 * MINUTE_MS) / 1000}\n`,
    );
  });

  it('a collection that was never loaded shows, and its last complete sync has the value 0', async () => {
    const world = boardOf(START_MS);
    world.emit({ type: 'owned', owner: 'vm-1' });
    world.emit(caughtUp('users', loaded('users', START_MS)), caughtUp('orgs', null), {
      type: 'session-opened',
    });
    const never = await answers(world);
    expect(never).toMatchObject({
      code: 503,
      readyz: ['load'],
      json: ['load'],
      state: 'loading',
      metrics: ['load'],
    });
    expect(never.text).toContain(
      'rollcall_last_complete_sync_timestamp_seconds{tenant="north",collection="orgs",mode="full"} 0\n',
    );
  });

  it('a hub whose clock is days behind is not taken for a copy that is days old', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    const behindMs = 3 * 24 * 60 * MINUTE_MS;
    const stats = newSyncStats({ syncId: 'p3', mode: 'INCREMENTAL', startedAtMs: START_MS - behindMs });
    const ended = {
      type: 'sync-ended',
      mode: 'FULL',
      outcome: 'complete',
      why: null,
      short: null,
      durationMs: 0,
      rows: 10,
      rejects: 0,
    } as const;
    for (const collection of ['users', 'orgs'] as const)
      world.emit({ ...ended, collection, stats, progress: loaded(collection, START_MS - behindMs) });
    const answer = await answers(world);
    expect(answer).toMatchObject({ code: 200, state: 'well' });
    expect(answer.text).toContain(
      `rollcall_watermark_timestamp_seconds{tenant="north",collection="users"} ${(START_MS - 6 * MINUTE_MS) / 1000}\n`,
    );
  });

  it('a Core API that fails alone shows, whatever the rest of the hub answers', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    const done = { type: 'request-done', status: 200, durationMs: 1, bytes: 2 } as const;
    const failed = { type: 'request-failed', code: 'HUB_TIMEOUT', status: null, durationMs: 1 } as const;
    world.emit({ type: 'hub', event: { ...failed, target: 'schedules' } });
    world.passes(15_000);
    world.emit({ type: 'hub', event: { ...done, target: 'users' } });
    expect(await answers(world)).toMatchObject({
      readyz: ['hub'],
      json: ['hub'],
      metrics: ['hub'],
      state: 'in-trouble',
    });
    world.emit({ type: 'hub', event: { ...done, target: 'schedules' } });
    expect(await answers(world)).toMatchObject({ code: 200 });
  });

  it('withheld deletions leave the process ready, and need a decision until one is made', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    const progress = loaded('users', START_MS);
    const deletions = {
      settledBy: 'p1',
      day: '2026-11-20',
      removed: 0,
      heldSinceMs: START_MS,
      why: null,
      approval: null,
    };
    const ended = {
      type: 'sync-ended',
      mode: 'FULL',
      collection: 'users',
      outcome: 'complete',
      why: null,
      short: null,
      durationMs: 0,
      rows: 10,
      rejects: 0,
      stats: newSyncStats({ syncId: 'p3', mode: 'FULL', startedAtMs: START_MS }),
    } as const;
    world.emit({ ...ended, progress: { ...progress, rowsWithheld: 7, deletions } });
    const waiting = await answers(world);
    expect(waiting).toMatchObject({ code: 200, state: 'needs-person' });
    expect(waiting.text).toContain('rollcall_needs_decision{tenant="north",collection="users"} 1\n');
    expect(waiting.text).toContain('rollcall_deletions_withheld{tenant="north",collection="users"} 7\n');
    world.emit({ ...ended, progress: { ...progress, deletions: { ...deletions, heldSinceMs: null } } });
    const { text } = await answers(world);
    expect(text).toContain('rollcall_needs_decision{tenant="north",collection="users"} 0\n');
    expect(text).toContain('rollcall_deletions_withheld{tenant="north",collection="users"} 0\n');
  });

  it('a hub that counts more rows than it returns is a reason, until a full sync is complete', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    const ended = {
      type: 'sync-ended',
      mode: 'FULL',
      collection: 'users',
      durationMs: 0,
      rows: 190,
      rejects: 0,
      stats: newSyncStats({ syncId: 'p3', mode: 'FULL', startedAtMs: START_MS }),
      progress: loaded('users', START_MS),
    } as const;
    const short = { rows: 190, total: 250 };
    world.emit({ ...ended, outcome: 'inconclusive', why: '190 of 250 rows came', short });
    const answer = await answers(world);
    expect(answer).toMatchObject({
      code: 503,
      readyz: ['short'],
      json: ['short'],
      state: 'in-trouble',
    });
    expect(JSON.stringify(await world.board.json())).toContain('190 of 250 rows');
    world.emit({ ...ended, outcome: 'complete', why: null, short: null });
    expect(await answers(world)).toMatchObject({ code: 200 });
  });

  it('an incremental sync that proved nothing is a reason until the next one does', async () => {
    const world = boardOf(START_MS);
    world.isWell();
    const ended = {
      type: 'sync-ended',
      mode: 'INCREMENTAL',
      collection: 'users',
      short: null,
      durationMs: 0,
      rows: 10,
      rejects: 0,
      stats: newSyncStats({ syncId: 'p3', mode: 'INCREMENTAL', startedAtMs: START_MS }),
      progress: loaded('users', START_MS),
    } as const;
    world.emit({ ...ended, outcome: 'inconclusive', why: 'the list has no rows' });
    expect(await answers(world)).toMatchObject({ code: 503, readyz: ['hub'], state: 'in-trouble' });
    world.emit({ ...ended, outcome: 'complete', why: null });
    expect(await answers(world)).toMatchObject({ code: 200, state: 'well' });
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
    const world = boardOf(START_MS);
    world.isWell();
    world.emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
    world.emit({
      type: 'sync-ended',
      mode: 'FULL',
      collection: 'users',
      outcome: 'complete',
      why: null,
      short: null,
      durationMs: 0,
      rows: 10,
      rejects: 0,
      stats: newSyncStats({ syncId: 'p3', mode: 'INCREMENTAL', startedAtMs: START_MS }),
      progress: loaded('users', START_MS),
    });
    expect(JSON.stringify(await world.board.json(['north']))).not.toContain('"running":{');
  });

  it('waits for its turn until it begins, or its session ends', async () => {
    const world = boardOf(START_MS);
    world.isWell();
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
    const world = boardOf(START_MS);
    world.isWell();
    const stats = {
      ...newSyncStats({ syncId: 'p3', mode: 'FULL', startedAtMs: START_MS }),
      rowsSeen: 4,
      totalAtStart: 20,
    };
    const tally = {
      seen: 4,
      unchanged: 1,
      stale: 0,
      over: 0,
      repeated: 0,
      created: 2,
      updated: 1,
      rejected: 0,
      withoutId: 0,
    };
    world.emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
    world.emit({ type: 'sync-page', collection: 'users', stats, tally });
    const [tenant] = (await world.board.json(['north']))['tenants'] as Tenant[];
    const users = tenant?.collections.find(({ collection }) => collection === 'users');
    expect(users).toMatchObject({ running: { mode: 'FULL', seen: 4, expected: 20 } });
  });
});

describe('the health in a heartbeat', () => {
  it('is bounded, however long the messages of services are', () => {
    const world = boardOf(START_MS);
    world.isWell();
    for (const part of TENANT_PARTS)
      world.board.report(part, { why: 'x'.repeat(9_000), remedy: 'y'.repeat(9_000) });
    const { health = '' } = world.board.heartbeatOf('north');
    expect(health.length).toBeLessThan(25_000);
  });
});
