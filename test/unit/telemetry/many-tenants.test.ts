import { describe, expect, it } from 'vitest';
import { overviewOf, type TenantState } from '../../../src/core/health/tenant-status.ts';
import { COLLECTIONS } from '../../../src/model/collections.ts';
import { caughtUp, configOf, loaded } from './support/board-of.ts';
import { fiveProcesses, TENANTS } from './support/five-processes.ts';

const START_MS = Date.parse('2026-11-20T12:00:00Z');

describe('many tenants', () => {
  it('are counted by state', () => {
    const of = (count: number, state: TenantState) => Array.from({ length: count }, () => ({ state }));
    const ill = [...of(6, 'loading'), ...of(2, 'in-trouble'), ...of(1, 'needs-person')];
    expect(overviewOf([...ill, ...of(1_291, 'well')]).summary).toBe(
      '1,300 tenants: 1 needing a person, 2 in trouble, 6 loading, 1,291 well',
    );
    expect(overviewOf(of(1, 'late')).summary).toBe('1 tenant: 1 late');
    expect(overviewOf([]).summary).toBe('no tenants');
  });

  it('have those first that need attention, and the others as the configuration names them', () => {
    const states: TenantState[] = ['well', 'loading', 'late', 'well', 'in-trouble', 'needs-person'];
    const { tenants } = overviewOf(states.map((state, at) => ({ state, at })));
    expect(tenants.map(({ at }) => at)).toEqual([5, 4, 2, 1, 0, 3]);
  });
});

describe('500 tenants of five processes, seen from one', () => {
  it('are all shown, each with its state and its owner, and only those of the process itself as its own', async () => {
    const { shown } = await fiveProcesses(START_MS);
    const { summary, tenants } = await shown();
    expect(summary).toBe('500 tenants: 500 well');
    expect(tenants.map(({ tenant }) => tenant)).toEqual(TENANTS);
    expect(tenants.filter(({ isHere }) => isHere)).toHaveLength(100);
    expect(tenants[1]).toMatchObject({
      headline: 'all well',
      owner: { owner: 'pod-1-1-0000a001', since: '2026-11-20T12:00:00.000Z' },
    });
  });

  it('cost one read of the heartbeats, without the collections, however many ask within three seconds', async () => {
    const { shown, reads, passes } = await fiveProcesses(START_MS);
    await Promise.all(Array.from({ length: 10 }, () => shown()));
    passes(2_999);
    await shown();
    expect(reads).toEqual([{ ids: 500, facts: ['version', 'health'] }]);
    passes(1);
    await shown();
    expect(reads).toHaveLength(2);
  });

  it('are less than 1 MB of JSON, even when none is well', async () => {
    const world = await fiveProcesses(START_MS);
    const detailed = TENANTS.slice(0, 50);
    expect(JSON.stringify(await world.shown(...detailed)).length).toBeLessThan(1_000_000);
    for (const { board } of world.boards)
      for (const part of ['kafka', 'registry', 'pipeline'] as const)
        board.report(part, { why: 'x'.repeat(200), remedy: 'y'.repeat(200) });
    await world.announce();
    world.passes(3_000);
    const { summary } = await world.shown();
    expect(summary).toBe('500 tenants: 500 in trouble');
    expect(JSON.stringify(await world.shown()).length).toBeLessThan(1_000_000);
  });

  it('have their collections on demand where they are mirrored, and in the heartbeat', async () => {
    const { shown, reads, coordination } = await fiveProcesses(START_MS);
    const { tenants } = await shown('t000', 't001', 'unknown');
    const detailed = tenants.filter(({ collections }) => collections?.length);
    expect(detailed.map(({ tenant, collections }) => [tenant, collections?.length])).toEqual([
      ['t000', COLLECTIONS.length],
    ]);
    expect(reads).toHaveLength(1);
    const [living] = await coordination.livingOwners(['t001'], ['collections']);
    expect(JSON.parse(living?.info['collections'] ?? '')).toHaveLength(COLLECTIONS.length);
  });

  it('appear and disappear with the configuration, also those of other processes', async () => {
    const { shown, configuration, coordination, boards, announce, passes } = await fiveProcesses(START_MS);
    await shown();
    const added = configOf(['t900', 't901'], COLLECTIONS).config.tenants;
    configuration.config.tenants = [...configuration.config.tenants.slice(2), ...added];
    const change = { added: ['t900', 't901'], changed: [], removed: ['t000', 't001'] };
    for (const { board } of boards) board.change(change);
    expect((await shown()).summary).toBe('498 tenants: 498 well');
    // Nothing is heard of them before the next reading.
    passes(3_000);
    const info = boards[1]?.board.heartbeatOf('t006') ?? {};
    await coordination.announce('t900', { owner: 'pod-1-1-0000a900', ownedSinceMs: START_MS, info }, 15_000);
    await announce();
    const { tenants } = await shown();
    expect(tenants[0]).toMatchObject({ tenant: 't901', headline: 'owner: no process mirrors the tenant' });
    expect(tenants).toHaveLength(500);
  });

  it('show a decision of another process first, and a tenant that no process mirrors, or that a command owns', async () => {
    const { boards, shown, coordination, announce, passes } = await fiveProcesses(START_MS);
    const withheld = { ...loaded('users', START_MS), rowsWithheld: 7 };
    const deletions = { settledBy: 'p', day: '', removed: 0, heldSinceMs: 1, why: null, approval: null };
    boards[4]?.board.note('t499', caughtUp('users', { ...withheld, deletions }));
    await announce();
    await coordination.withdraw('t001', (await coordination.livingOwners(['t001']))[0]?.owner ?? '');
    await coordination.announce(
      't002',
      { owner: 'vm-9-0000000c', ownedSinceMs: START_MS + 1, info: {} },
      9_000,
    );
    passes(3_000);
    const { summary, needsPerson, tenants } = await shown();
    expect(tenants.slice(0, 3).map(({ tenant, headline }) => `${tenant} ${headline}`)).toEqual([
      't499 needs a decision: 7 deletions are withheld in users',
      't001 owner: no process mirrors the tenant',
      't002 owner: its owner reports no health: a command works on it, or it is moving to another process',
    ]);
    expect(summary).toContain('1 needing a person, 2 in trouble, 497 well');
    expect(needsPerson).toBe(true);
  });

  it('are left out while Redis takes no writes, fails or does not answer, and not called dead; the own ones are shown', async () => {
    const world = await fiveProcesses(START_MS);
    const expectOwn = async (summary: string) => {
      const shown = await world.shown();
      expect(shown.summary).toBe(summary);
      expect(shown.tenants.every(({ isHere }) => isHere)).toBe(true);
      expect(shown.tenantsConfigured).toBe(500);
      expect(JSON.stringify(shown)).not.toContain('a secret');
    };
    world.board.report('redis', { why: 'it takes no writes', remedy: 'See its log.' });
    world.passes(60_000);
    await expectOwn('100 tenants: 100 in trouble');
    world.board.report('redis', null);
    world.redisAnswers(() => Promise.reject(new Error('a secret')));
    world.passes(3_000);
    await expectOwn('100 tenants: 100 well');
    world.redisAnswers(() => new Promise(() => {}));
    world.passes(3_000);
    await expectOwn('100 tenants: 100 well');
  });

  it('of another version are not read, and named', async () => {
    const { shown, coordination, passes } = await fiveProcesses(START_MS);
    const [living] = await coordination.livingOwners(['t001'], ['version', 'health']);
    if (!living) throw new Error('no heartbeat');
    await coordination.announce('t001', { ...living, info: { ...living.info, version: '9.9.9' } }, 9_000);
    passes(3_000);
    const { tenants } = await shown();
    expect(tenants[0]).toMatchObject({
      tenant: 't001',
      headline: 'owner: version 9.9.9 mirrors the tenant, and this is 1.2.3',
    });
  });
});
