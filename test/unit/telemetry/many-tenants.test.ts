import { expect, it } from 'vitest';
import { overviewOf, type TenantState } from '../../../src/core/health/tenant-status.ts';
import type { ReadHeartbeats } from '../../../src/core/health/tenant-facts.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { COLLECTIONS } from '../../../src/model/collections.ts';
import { caughtUp, configOf, onHoldIn } from './support/board-of.ts';
import { fiveProcesses } from './support/five-processes.ts';

const START_MS = Date.parse('2026-11-20T12:00:00Z');

it('many tenants are counted by state, and those that need attention come first', () => {
  const states: TenantState[] = ['well', 'loading', 'late', 'well', 'in-trouble', 'needs-person'];
  const [none, down] = [[], [{ part: 'kafka', why: 'away', remedy: '' }]] as const;
  const each = states.map((state, at) => ({ state, at, reasons: none }));
  const stopped = { state: 'in-trouble', at: 6, reasons: down } as const;
  const { summary, tenants } = overviewOf([...each, stopped]);
  expect(summary).toBe('7 tenants: 1 needing a person, 2 in trouble, 1 late, 1 loading, 2 well');
  // What stops everything comes before what waits for a person, as within a tenant.
  expect(tenants.map(({ at }) => at)).toEqual([6, 5, 4, 2, 1, 0, 3]);
  const well = Array.from({ length: 1_300 }, () => ({ state: 'well' as const, reasons: none }));
  expect([well, well.slice(1_299), []].map((some) => overviewOf(some).summary)).toEqual([
    '1,300 tenants: 1,300 well',
    '1 tenant: 1 well',
    'no tenants',
  ]);
});

it('all tenants of five processes are shown by one read of the heartbeats, however many ask', async () => {
  const { shown, reads, passes, tenants, coordination } = await fiveProcesses(START_MS);
  const [seen] = await Promise.all(Array.from({ length: 10 }, () => shown('t000', 't001', 'unknown')));
  expect(seen?.summary).toBe('20 tenants: 20 well');
  expect(seen?.tenants.map(({ tenant }) => tenant)).toEqual(tenants);
  expect(seen?.tenants.filter(({ isHere }) => isHere)).toHaveLength(4);
  const owner = { owner: 'pod-1-1-0000a001', since: '2026-11-20T12:00:00.000Z' };
  expect(seen?.tenants[1]).toMatchObject({ headline: 'all well', owner });
  // The collections are shown on demand where they are mirrored, and by the heartbeat.
  const detailed = seen?.tenants.flatMap(({ tenant, collections }) => (collections?.length ? [tenant] : []));
  expect(detailed).toEqual(['t000']);
  const [living] = await coordination.livingOwners(['t001'], ['collections']);
  expect(JSON.parse(living?.info['collections'] ?? '')).toHaveLength(COLLECTIONS.length);
  passes(2_999);
  await shown();
  expect(reads).toEqual([{ ids: 20, facts: ['version', 'health'] }]);
  passes(1);
  await shown();
  expect(reads).toHaveLength(2);
});

it('500 tenants of which none is well are less than 1 MB of JSON', async () => {
  const world = await fiveProcesses(START_MS, 500);
  const some = world.tenants.slice(0, 50);
  expect(JSON.stringify(await world.shown(...some)).length).toBeLessThan(1_000_000);
  for (const { board } of world.boards)
    for (const part of ['kafka', 'registry', 'pipeline'] as const)
      board.report(part, { why: 'x'.repeat(200), remedy: 'y'.repeat(200) });
  await world.announce();
  world.passes(3_000);
  const shown = await world.shown();
  expect(shown.summary).toBe('500 tenants: 500 in trouble');
  expect(JSON.stringify(shown).length).toBeLessThan(1_000_000);
});

it('tenants of other processes appear and disappear with the configuration', async () => {
  const { shown, configuration, coordination, boards, announce, passes } = await fiveProcesses(START_MS);
  await shown();
  const added = configOf(['t900', 't901'], COLLECTIONS).config.tenants;
  configuration.config.tenants = [...configuration.config.tenants.slice(2), ...added];
  const change = { added: ['t900', 't901'], changed: [], removed: ['t000', 't001'] };
  for (const { board } of boards) board.change(change);
  // Nothing is heard of the new ones before the next reading.
  expect((await shown()).summary).toBe('18 tenants: 18 well');
  passes(3_000);
  const info = boards[1]?.board.heartbeatOf('t006') ?? {};
  await coordination.announce('t900', { owner: 'pod-1-1-0000a900', ownedSinceMs: START_MS, info }, 15_000);
  await announce();
  const { tenants } = await shown();
  expect(tenants[0]).toMatchObject({ tenant: 't901', headline: 'owner: no process mirrors the tenant' });
  expect(tenants).toHaveLength(20);
});

it('tenants without an owner are shown first, then the decisions of other processes', async () => {
  const { boards, shown, coordination, announce, passes } = await fiveProcesses(START_MS);
  boards[4]?.board.note(
    't019',
    caughtUp('users', onHoldIn('users', 7, { nowMs: START_MS, onHoldSinceMs: START_MS })),
  );
  await announce();
  const [first, , third] = await coordination.livingOwners(['t001', 't002', 't003']);
  await coordination.withdraw('t001', first?.owner ?? '');
  const command = { owner: 'vm-9-0000000c', ownedSinceMs: START_MS + 1, info: {} };
  await coordination.announce('t002', command, 9_000);
  if (!third) throw new Error('no heartbeat');
  await coordination.announce('t003', { ...third, info: { ...third.info, version: '9.9.9' } }, 9_000);
  passes(3_000);
  const { summary, needsPerson, tenants } = await shown();
  expect(tenants.slice(0, 4).map(({ tenant, headline }) => `${tenant} ${headline}`)).toEqual([
    't001 owner: no process mirrors the tenant',
    't002 owner: its owner does not report its health: a command is working on the tenant, or the tenant is moving to another process',
    't003 owner: a process of version 9.9.9 mirrors the tenant, but this program is version 1.2.3',
    't019 needs a decision: 7 rows are on hold in users, for 0 s',
  ]);
  expect(tenants[1]?.isOwnerAlive).toBe(true);
  expect([summary, needsPerson]).toEqual([expect.stringContaining('1 needing a person, 3 in trouble'), true]);
});

it('tenants are shown as starting, not as unowned, while the process joins the group', async () => {
  const { configuration } = await fiveProcesses(START_MS, 2);
  const read: ReadHeartbeats = async (ids) => ids.map(() => null);
  const board = new Board(configuration, { version: '1', now: () => START_MS, read });
  expect(await board.json()).toMatchObject({ summary: '2 tenants: 2 starting' });
  board.reportNoGroup({ why: 'Kafka is away', remedy: 'Start it.' });
  expect(await board.json()).toMatchObject({ summary: '2 tenants: 2 in trouble' });
});

it('a process shows only its own tenants while Redis fails, and no tenant as dead', async () => {
  const world = await fiveProcesses(START_MS);
  world.board.report('redis', { why: 'it takes no writes', remedy: 'See its log.' });
  for (const [state, answer] of [
    ['in trouble', null],
    ['well', () => Promise.reject(new Error('a secret'))],
    ['well', () => new Promise<never>(() => {})],
  ] as const) {
    if (state === 'well') world.board.report('redis', null);
    if (answer !== null) world.redisAnswers(answer);
    world.passes(60_000);
    const shown = await world.shown();
    expect(shown.summary).toBe(`4 tenants: 4 ${state}`);
    expect(shown.tenants.every(({ isHere }) => isHere)).toBe(true);
    expect(shown.tenantsConfigured).toBe(20);
    expect(JSON.stringify(shown)).not.toContain('a secret');
  }
});
