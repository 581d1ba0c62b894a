import { expect, it } from 'vitest';
import type { HubEvent } from '../../../src/core/hub-events.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import { RollcallError, type ErrorCode } from '../../../src/errors.ts';
import { heardOf, type TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { TENANT_PARTS } from '../../../src/core/health/tenant-facts.ts';
import { unchangedRows } from '../../../src/core/rows/compare-with-published.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { monitorsOf } from '../../../src/telemetry/collection-monitor.ts';
import { load, yamlWith } from '../config/config-text.ts';
import { boardOf, caughtUp, configOf, loaded, syncEnded, onHoldIn } from './support/board-of.ts';

const START_MS = Date.parse('2026-11-20T12:00:00Z');
const MINUTE_MS = 60_000;

type World = ReturnType<typeof boardOf>;

function wellWorld(): World {
  const world = boardOf(START_MS);
  world.isWell();
  return world;
}

/**
 * Asks for what `/readyz`, `/status.json`, the metrics, and the heartbeat, which `status` in another process prints, show:
 * all must give these parts as reasons, none if it is ready. Returns the metrics and what `/status.json` says.
 */
async function expectHealth(
  { board, registry }: World,
  [state, ...parts]: readonly string[],
): Promise<string> {
  const { ready, reasons } = board.readiness();
  const json = await board.json(['north']);
  const [tenant] = json['tenants'] as TenantStatus[];
  const text = await registry.metrics();
  const unready = [...text.matchAll(/^rollcall_ready\{tenant="north",part="(\w+)"\} 0$/gm)];
  const heartbeat = { owner: 'vm-1', ownedSinceMs: START_MS, info: board.heartbeatOf('north') };
  const { health } = heardOf(heartbeat, '1.2.3');
  const isReady = parts.every((part) => ['collection', 'rejects', 'removals', 'decision'].includes(part));
  // A decision is a reason only where nothing else shows it.
  const others = parts.filter((part) => part !== 'decision');
  expect({ ...health, isHere: true }).toEqual(tenant);
  expect({
    areReady: [ready, json['ready']],
    readyz: reasons.map(({ part }) => part).toSorted(),
    json: tenant?.reasons.map(({ part }) => part).toSorted(),
    state: tenant?.state,
    metrics: unready.map(([, part = '']) => part).toSorted((one, other) => one.localeCompare(other)),
  }).toEqual({ areReady: [isReady, isReady], readyz: parts, json: others, state, metrics: others });
  return `${text}${JSON.stringify(json)}`;
}

const hub = (event: HubEvent) => ({ type: 'hub', event }) as const;
const requestDone = (target: 'users' | 'schedules') =>
  hub({ type: 'request-done', target, status: 200, durationMs: 1, bytes: 2 });
const requestFailed = (
  code: 'INTERNAL' | 'HUB_TIMEOUT' | 'HUB_UNREACHABLE' | 'HUB_CIRCUIT_OPEN',
  target: 'users' | 'schedules' = 'users',
) => hub({ type: 'request-failed', target, code, status: null, durationMs: 2 });
const tenantFailed = {
  type: 'tenant-failed',
  error: new RollcallError('KAFKA_TOPIC_MISMATCH', 'Topics differ', { remedy: 'Mend them.' }),
  retryInMs: MINUTE_MS,
} as const;
const full = new RollcallError('INDEX_REFUSED', 'Redis is full', { remedy: 'Raise maxmemory.' });
const sessionFailed = { type: 'session-failed', error: full, retryInMs: 1_000 } as const;
const MISMATCH = 'failed: Topics differ (KAFKA_TOPIC_MISMATCH), for 0 s';
const opened = [{ type: 'owned', owner: 'vm-1' }, { type: 'session-opened' }] as const;

const sync = (mode: SyncMode, startedAtMs = START_MS) => ({
  mode,
  stats: newSyncStats({ syncId: 'p3', mode, startedAtMs }),
  progress: loaded('users', startedAtMs),
});
const refused = (collection: 'users' | 'orgs'): PipelineEvent => ({
  type: 'sync-failed',
  collection,
  mode: 'INCREMENTAL',
  error: new RollcallError('HUB_NOT_OFFERED', `The hub does not offer ${collection}`, { remedy: 'Ask.' }),
  durationMs: 1,
  retryInMs: 1,
});
const timeout = new RollcallError('HUB_TIMEOUT', 'No answer', { remedy: 'Wait.' });
const timedOut = { ...refused('users'), error: timeout } as PipelineEvent;
const manyRejects = syncEnded({
  ...sync('INCREMENTAL'),
  rejects: 62,
  progress: loaded('users', START_MS, { rows: 148, rowsRejected: 62 }),
});
const inconclusive = { outcome: 'inconclusive', why: '190 of 250 rows were returned' } as const;
const short = { rows: 190, total: 250, repeated: 0, isCovered: false };
const rowsOnHold = (rows: number, onHoldSinceMs: number | null) =>
  syncEnded({ ...sync('FULL'), progress: onHoldIn('users', rows, { nowMs: START_MS, onHoldSinceMs }) });
const starts = (mode: SyncMode) => ({ type: 'sync-started', collection: 'users', mode }) as const;
const waits = { type: 'full-sync-waits', collection: 'users' } as const;
const page: PipelineEvent = {
  type: 'sync-page',
  collection: 'users',
  stats: Object.assign(sync('FULL').stats, { rowsSeen: 4, totalAtStart: 20 }),
  tally: { ...unchangedRows(1), rowsSeen: 4, rowsCreated: 2, rowsUpdated: 1 },
  rows: 12,
};
const running = /"running":\{"mode":"FULL",[^}]*"seen":4,"expected":20\}/;

const WELL = ['well'];
const HUB = ['in-trouble', 'hub'];
const USERS = '{tenant="north",collection="users"}';
const WATERMARK = `rollcall_watermark_timestamp_seconds${USERS} ${(START_MS - 6 * MINUTE_MS) / 1000}\n`;
const BEHIND_MS = START_MS - 3 * 24 * 60 * MINUTE_MS;

const NOT_WAITING = /^(?!.*"isWaiting":true)/s;
const NOTHING_RUNS = /^(?!.*"running":\{)/s;
const LATE = ['late', 'watermark'];
const COLLECTION = ['in-trouble', 'collection'];
const FAILS = /collection: users: The hub does not offer users \(HUB_NOT_OFFERED\), for 20 s/;
const inTrouble = (part: string, value: number) =>
  `rollcall_collection_in_trouble{tenant="north",collection="users",part="${part}"} ${value}\n`;
const MARKED = [
  /"trouble":\{"part":"collection",/,
  inTrouble('collection', 1),
  inTrouble('rejects', 0),
] as const;
const FAILED = ['in-trouble', 'failed'];
const FULL_REDIS = ['in-trouble', 'pipeline', 'redis'];
const behind = sync('INCREMENTAL', BEHIND_MS);
const orgsBehind = { ...behind, collection: 'orgs', progress: loaded('orgs', BEHIND_MS) } as const;
const nothingProved = { ...sync('INCREMENTAL'), ...inconclusive };
const shortSync = syncEnded({
  ...sync('FULL'),
  ...inconclusive,
  short,
  progress: onHoldIn('users', 0, { nowMs: START_MS, onHoldSinceMs: null, short }),
});
const NEVER =
  'rollcall_last_complete_sync_timestamp_seconds{tenant="north",collection="orgs",mode="full"} 0\n';
const decisions = (code: string, needed: number, rows: number) =>
  [
    `rollcall_needs_decision{tenant="north",collection="users",code="${code}"} ${needed}\n`,
    `rollcall_rows_on_hold${USERS} ${rows}\n`,
  ] as const;

/** What happens or how much time passes (ms), the health with its parts then, and what is shown or matches it. */
type Beat = [happens: (PipelineEvent | number)[], health: readonly string[], ...shown: (string | RegExp)[]];

it.each<[name: string, ...Beat[]]>([
  [
    'a tenant that needs a person has failed, for no other reason, until a session opens',
    [[sessionFailed, requestFailed('HUB_UNREACHABLE'), 20_000, tenantFailed], FAILED, MISMATCH],
    [[...opened], WELL],
  ],
  [
    'a hub that refuses connections is in trouble within 20 s, before the sync gives up',
    [[], WELL],
    [[requestFailed('HUB_UNREACHABLE'), 20_000], HUB],
    [[requestFailed('HUB_CIRCUIT_OPEN')], HUB, '(HUB_UNREACHABLE)'],
  ],
  [
    'a hub is not blamed for the requests that end with a session',
    [[sessionFailed, requestFailed('INTERNAL'), 27_000], FULL_REDIS],
  ],
  [
    'a hub is not blamed for what failed before its session ended',
    [[requestFailed('HUB_TIMEOUT'), sessionFailed, 27_000], FULL_REDIS],
  ],
  [
    'a tenant is late once its watermark is old, even if nothing happens at all',
    [[9 * MINUTE_MS], WELL],
    [[MINUTE_MS], LATE, WATERMARK],
  ],
  [
    'a tenant is loading while a collection was never loaded, and the metric of its sync is 0',
    [[caughtUp('orgs', null)], ['loading', 'load'], NEVER],
  ],
  [
    'a hub whose clock is days behind is not taken for a copy that is days old',
    [[syncEnded(behind), syncEnded(orgsBehind)], WELL, WATERMARK],
  ],
  [
    'a hub is well while only its Core API gives no answer',
    [[requestFailed('HUB_TIMEOUT', 'schedules'), 20_000], WELL],
  ],
  [
    'rows on hold leave the process ready, and need a decision until one is made',
    [[rowsOnHold(7, START_MS)], ['needs-person', 'decision'], ...decisions('ROWS_ON_HOLD', 1, 7)],
    [[rowsOnHold(0, null)], WELL, ...decisions('', 0, 0)],
  ],
  [
    'a hub that counts more rows than it returns is a trouble until a full sync is complete',
    [[shortSync], ['in-trouble', 'short'], '190 of 250 rows'],
    [[syncEnded(sync('FULL'))], WELL],
  ],
  [
    'two incremental syncs in a row that proved nothing are a trouble until the next is complete',
    [[syncEnded(nothingProved)], WELL],
    [[syncEnded(nothingProved)], COLLECTION, '190 of 250 rows'],
    [[syncEnded(sync('INCREMENTAL'))], WELL],
  ],
  [
    'a collection that alone gets no answer again and again is in trouble, and the hub is not',
    [[timedOut, requestDone('users'), timedOut, requestDone('users')], COLLECTION],
    [[requestFailed('HUB_TIMEOUT'), timedOut, 16_000], COLLECTION, '(HUB_TIMEOUT)'],
  ],
  [
    'a collection whose syncs fail twice is in trouble until one ends, but the process is ready',
    [[refused('users')], WELL],
    [[20_000, refused('users')], COLLECTION, FAILS, ...MARKED],
    [[syncEnded(sync('INCREMENTAL'))], WELL, inTrouble('collection', 0)],
  ],
  [
    'a hub that refuses all that Rollcall asks for is in trouble',
    [[refused('users'), refused('users'), refused('orgs')], COLLECTION],
    [[refused('orgs')], HUB],
  ],
  [
    'a collection with many unreadable rows is in trouble, but the process is ready',
    [[manyRejects], ['in-trouble', 'rejects'], '62 of 210 rows cannot be read', inTrouble('rejects', 1)],
  ],
  [
    'a running sync shows the rows seen, expected and published until a sync of some scopes ends',
    [[starts('FULL'), page], WELL, running, '"rowsNow":12,'],
    [[syncEnded({ ...sync('INCREMENTAL'), mode: 'FULL' })], WELL, NOTHING_RUNS],
  ],
  [
    'a full sync waits for its turn until it begins, or its session ends',
    [[waits, starts('INCREMENTAL')], WELL, '"isWaiting":true'],
    [[starts('FULL')], WELL, NOT_WAITING],
    [[waits, sessionFailed], FULL_REDIS, NOT_WAITING],
  ],
])('%s', async (_, ...beats) => {
  const world = wellWorld();
  for (const [happens, health, ...shown] of beats) {
    for (const each of happens)
      if (typeof each === 'number') world.passes(each);
      else world.emit(each);
    const text = await expectHealth(world, health);
    for (const part of shown) expect(text).toMatch(part);
  }
});

it('a process that begins is starting, and not in trouble, until the hub has answered', async () => {
  const world = boardOf(START_MS);
  await expectHealth(world, ['starting', 'start']);
  world.passes(MINUTE_MS);
  // A session that ends under the earlier configuration still gets its answer.
  world.board.change({ added: [], changed: ['north'], removed: [] });
  world.emit(requestDone('users'));
  expect(await expectHealth(world, ['starting', 'start'])).toContain(
    'taking over the tenant and bringing its index up to date, for 0 s',
  );
  world.passes(MINUTE_MS);
  world.emit({ type: 'owned', owner: 'vm-1' });
  expect(await expectHealth(world, ['starting', 'start'])).toContain('its index up to date, for 0 s');
  world.emit(caughtUp('users', null), { type: 'session-opened' });
  expect(await expectHealth(world, ['starting', 'start'])).toContain('the hub has not answered yet, for 0 s');
  world.emit(requestDone('users'));
  await expectHealth(world, ['loading', 'load']);
});

it('a process that is ready names the tenant that is not, and why', () => {
  const board = new Board(configOf(['north', 'south'], ['users']), { version: '1', now: () => START_MS });
  board.showTenants(['north', 'south']);
  for (const event of [...opened, caughtUp('users', loaded('users', START_MS)), requestDone('users')])
    board.note('north', event);
  board.note('south', sessionFailed);
  const since = '2026-11-20T12:00:00.000Z';
  const redis = { tenant: 'south', part: 'redis', why: 'Redis is full (INDEX_REFUSED)', since };
  expect(board.readiness()).toMatchObject({
    ready: true,
    reasons: [
      redis,
      {
        part: 'pipeline',
        why: 'the tenant is not mirrored: its last session failed (INDEX_REFUSED)',
        remedy: expect.stringMatching(
          /^Rollcall begins a new session by itself at 2026-11-20T12:00:01/,
        ) as string,
      },
      { part: 'start' },
    ],
  });
});

it('whether a collection is late is judged by its own pause and time of full syncs, if it has them', () => {
  const tenant = 'collections: { results: { incrementalEvery: 1h, fullSync: { at: "02:30" } } }';
  const [config] = load(yamlWith({ tenant })).tenants;
  const facts = config && monitorsOf(config).get('results')?.facts();
  expect(facts).toMatchObject({ incrementalEveryMs: 60 * MINUTE_MS, fullSync: { at: '02:30' } });
});

it('a process without tenants is ready, unless it could not mirror the next one', () => {
  const { board } = boardOf(START_MS);
  board.showTenants([]);
  expect(board.readiness().reasons).toEqual([]);
  board.report('redis', { why: 'away', remedy: 'look' });
  expect(board.readiness().reasons).toMatchObject([{ part: 'redis', why: 'away' }]);
  board.report('redis', null);
  expect(board.readiness().reasons).toEqual([]);
});

it('the health in a heartbeat is bounded, however long the messages of services are', () => {
  const world = wellWorld();
  for (const part of TENANT_PARTS)
    world.board.report(part, { why: 'x'.repeat(9_000), remedy: 'y'.repeat(9_000) });
  const { health = '' } = world.board.heartbeatOf('north');
  expect(health.length).toBeLessThan(25_000);
});

it('a failure of the hub that several collections meet is news once, and again after an answer', () => {
  const { board, emit } = wellWorld();
  const failed = { type: 'sync-failed', mode: 'FULL', durationMs: 1, retryInMs: null } as const;
  const meets = (code: ErrorCode, collection: 'users' | 'orgs') => {
    const error = new RollcallError(code, `Cannot read ${collection}`, { remedy: '' });
    return board.note('north', { ...failed, collection, error });
  };
  const outage = [
    meets('HUB_UNREACHABLE', 'users'),
    meets('HUB_CIRCUIT_OPEN', 'orgs'),
    meets('HUB_UNREACHABLE', 'users'),
  ];
  expect(outage).toEqual([true, false, false]);
  emit(requestDone('users'));
  expect(meets('HUB_UNREACHABLE', 'orgs')).toBe(true);
});

it.each([
  [['HUB_UNREACHABLE', 'HUB_CIRCUIT_OPEN', 'HUB_CIRCUIT_OPEN'], null],
  [['HUB_UNREACHABLE', 'HUB_CIRCUIT_OPEN', 'HUB_UNREACHABLE'], 'collection'],
] as const)('only syncs that asked the hub put a collection in trouble (case %$)', (codes, part) => {
  const { board, emit } = wellWorld();
  const failed = { type: 'sync-failed', mode: 'FULL', durationMs: 1, retryInMs: null } as const;
  for (const code of codes) {
    const error = new RollcallError(code, 'Cannot read orgs', { remedy: '' });
    emit({ ...failed, collection: 'orgs', error });
  }
  const troubles = () => {
    const status = board.tenants[0]?.status();
    const orgs = status?.collections.find(({ collection }) => collection === 'orgs');
    return [status?.state, orgs?.trouble?.part ?? null];
  };
  expect(troubles()).toEqual(['in-trouble', part]);
  emit(hub({ type: 'circuit-closed' }));
  expect(troubles()).toEqual([part === null ? 'well' : 'in-trouble', part]);
});

it('a failure that ends a session is news once, not at each sync that it ends or at the next session', () => {
  const { board } = wellWorld();
  const failed = { mode: 'FULL', durationMs: 1, retryInMs: null } as const;
  const events: PipelineEvent[] = [
    { type: 'sync-failed', collection: 'users', error: full, ...failed },
    { type: 'sync-failed', collection: 'orgs', error: full, ...failed },
    { type: 'session-failed', error: full, retryInMs: 1 },
    { type: 'session-failed', error: full, retryInMs: 2 },
  ];
  expect(events.map((event) => board.note('north', event))).toEqual([false, false, true, false]);
});

it('lost absences are news once, in whichever session, until they are published again', () => {
  const { board } = boardOf(START_MS, ['absence-versions']);
  const error = new RollcallError('ABSENCES_LOST', 'Absences are lost', { remedy: 'Decide.' });
  const of = { collection: 'absence-versions', mode: 'FULL', durationMs: 1 } as const;
  const lost: PipelineEvent = { type: 'sync-failed', error, retryInMs: 5, ...of };
  const isNews = (): boolean => board.note('north', lost);
  const first = isNews();
  for (const event of opened) board.note('north', event);
  const inNextSession = isNews();
  board.note('north', syncEnded(of));
  expect([first, inNextSession, isNews()]).toEqual([true, false, true]);
});
