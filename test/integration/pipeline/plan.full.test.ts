import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { assemble, type Assembly } from '../../../src/session/assemble.ts';
import type { TenantState } from '../../../src/state/index-store.ts';
import { configTextOf, openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { planAll, plannedLines, publishedLines } from '../support/planned.ts';
import { recreateTopic } from './recreate-topic.ts';
import { copyRedis, flushRedis } from './redis-copy.ts';

const EVERYTHING = {
  collections: { 'class-students': { enabled: true } },
  settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } },
} as const;
const TEN_MINUTES_MS = 600_000;

/** Makes a plan, then the full sync that it is of; returns what was published. */
async function expectPlanned(mirror: Mirror): Promise<readonly string[]> {
  const before = await mirror.ends();
  const plan = await planAll(mirror.assembly);
  expect(plan.filter(({ outcome }) => outcome !== 'complete')).toEqual([]);
  const planned = plannedLines(plan);
  expect(publishedLines(await mirror.since(before))).toEqual([]);
  const { collections } = mirror.parts;
  await mirror.fullUnconfirmed(...collections.map(({ name }) => name));
  expect(publishedLines(await mirror.since(before))).toEqual(planned);
  return planned;
}

describe('a plan equals what the next full sync publishes', () => {
  it('before the first sync, and it is empty after it', async () => {
    await using mirror = await openMirror({ ...EVERYTHING, afterschools: ['afterschool-1'] });
    expect((await expectPlanned(mirror)).length).toBeGreaterThan(1_000);
    expect(await expectPlanned(mirror)).toEqual([]);
  });

  it.each([11, 12])('after random changes at the hub (seed %i)', async (seed) => {
    await using mirror = await openMirror({ ...EVERYTHING, hubOptions: { students: 30, seed } });
    const { living, clock, district } = mirror.hub;
    await mirror.full();
    let lines: readonly string[] = [];
    for (let round = 1; round <= 3; round += 1) {
      clock.advance(TEN_MINUTES_MS);
      living.step(40);
      if (round === 2) district.restamp();
      lines = lines.concat(await expectPlanned(mirror));
    }
    const kinds = new Set(lines.map((line) => line.split(' ').slice(0, 2).join(' ')));
    for (const kind of ['absence-changes created', 'absence-changes replaced', 'absence-versions created'])
      expect(kinds).toContain(kind);
  });

  it('for removed rows, for rows that cannot be read, and for those that can be read again', async () => {
    await using mirror = await openMirror({
      collections: ['absence-versions', 'absences', 'absence-changes', 'courses'],
    });
    const { clock, district } = mirror.hub;
    await mirror.full();
    const [broken = '', removed = ''] = district.ids('absence-versions');
    const fromTime = district.get('absence-versions', broken)?.['fromTime'] ?? null;
    clock.advance(TEN_MINUTES_MS);
    district.patch('absence-versions', broken, { fromTime: 'a quarter past nine' });
    district.remove('courses', district.ids('courses')[0] ?? '');
    district.remove('absence-versions', removed);
    expect(await expectPlanned(mirror)).toEqual([`absence-versions rejected ${broken}`]);
    const second = await expectPlanned(mirror);
    expect(second).toContain(`absence-versions deleted ${removed}`);
    expect(second.filter((line) => line.startsWith('courses deleted '))).toHaveLength(1);
    clock.advance(TEN_MINUTES_MS);
    district.patch('absence-versions', broken, { fromTime });
    expect(await expectPlanned(mirror)).toEqual([`absence-versions unrejected ${broken}`]);
  });

  it('where the index was lost, and where it is an earlier one of the same log', async () => {
    await using mirror = await openMirror({ ...EVERYTHING, hubOptions: { students: 12 } });
    const { living, clock } = mirror.hub;
    await mirror.full();
    const copy = await copyRedis(mirror);
    clock.advance(TEN_MINUTES_MS);
    living.step(20);
    await mirror.full();
    living.step(10);
    await copy.restore();
    const resumed = await planAll(mirror.assembly);
    expect(new Set(resumed.map(({ basis }) => basis))).toEqual(new Set(['index']));
    await flushRedis(mirror.topicPrefix);
    const rebuilt = await planAll(mirror.assembly);
    expect(new Set(rebuilt.map(({ basis }) => basis))).toEqual(new Set(['topics']));
    expect(plannedLines(rebuilt)).toEqual(plannedLines(resumed));
    const before = await mirror.ends();
    await mirror.restart();
    await mirror.full();
    const published = await mirror.since(before);
    expect(publishedLines(published)).toEqual(plannedLines(resumed));
    expect(published.length).toBeGreaterThan(0);
  });

  it('where a topic was deleted and created again', async () => {
    await using mirror = await openMirror({ collections: ['courses', 'orgs'] });
    await mirror.full();
    await mirror.ends();
    await recreateTopic(mirror.topic('courses'));
    const plan = await planAll(mirror.assembly);
    expect(plannedLines(plan)).toHaveLength(mirror.hub.district.ids('courses').length);
    const before = await mirror.ends();
    await mirror.restart();
    await mirror.full();
    expect(publishedLines(await mirror.since(before))).toEqual(plannedLines(plan));
  });

  it('under a changed mapping', async () => {
    const settings = { ...EVERYTHING.settings, pseudonymise: { key: 'a key of sixteen or more' } };
    const chosen = { absences: {}, 'absence-changes': {} };
    await using mirror = await openMirror({
      collections: only({ ...chosen, 'absence-versions': {} }),
      hubOptions: { students: 12 },
      settings,
    });
    await mirror.full();
    const changed: MirrorOptions = {
      hub: mirror.hub,
      topicPrefix: mirror.topicPrefix,
      collections: only({ ...chosen, 'absence-versions': { pseudonymise: ['student'], drop: ['school'] } }),
      settings,
    };
    const configText = configTextOf(mirror.hub, mirror.topicPrefix, changed);
    const config = loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => configText });
    await using assembly = assemble(config, {
      logger: pino({ level: 'silent' }),
      emit: () => undefined,
    });
    const planned = plannedLines(await planAll(assembly));
    expect(plannedLines(await planAll(mirror.assembly))).toEqual([]);
    const before = await mirror.ends();
    await using restarted = await openMirror(changed);
    await restarted.full();
    expect(publishedLines(await mirror.since(before))).toEqual(planned);
    expect(planned.length).toBeGreaterThan(mirror.hub.district.ids('absence-versions').length);
  });

  it('without Redis', async () => {
    await using mirror = await openMirror({ collections: ['courses', 'orgs'], inMemory: true });
    await mirror.full();
    await mirror.restart();
    mirror.hub.district.remove('courses', mirror.hub.district.ids('courses')[0] ?? '');
    expect(await expectPlanned(mirror)).toEqual([]);
    expect(await expectPlanned(mirror)).toHaveLength(1);
  });
});

describe('a plan beside an owner that publishes', () => {
  /** An object of which one method runs `disturb` first. */
  function disturbing<T extends object>(object: T, method: keyof T, disturb: () => Promise<void>): T {
    return new Proxy(object, {
      get(target, property) {
        const member: unknown = Reflect.get(target, property);
        if (typeof member !== 'function') return member;
        const bound = member.bind(target) as (...given: unknown[]) => unknown;
        if (property !== method) return bound;
        return async (...given: unknown[]) => {
          await disturb();
          return bound(...given);
        };
      },
    });
  }

  function withState(assembly: Assembly, over: Partial<TenantState>): Assembly {
    const tenant = assembly.tenant('north');
    const { state } = tenant;
    const disturbed: TenantState = {
      deletions: state.deletions,
      forget: (name) => state.forget(name),
      collection: (name) => state.collection(name),
      ...over,
    };
    return { ...assembly, tenant: () => ({ ...tenant, state: disturbed }) };
  }

  /** The tenant, with an index below that runs `disturb` before it is read for a collection. */
  function disturbed(
    assembly: Assembly,
    options: { name: CollectionName; disturb: () => Promise<void> },
  ): Assembly {
    const { state } = assembly.tenant('north');
    return withState(assembly, {
      collection: (name) =>
        name === options.name
          ? disturbing(state.collection(name), 'lookup', options.disturb)
          : state.collection(name),
    });
  }

  /** Plans; also returns how many syncs of each collection that took. */
  async function planCounting(assembly: Assembly) {
    const syncs: Partial<Record<CollectionName, number>> = {};
    const plan = await planAll(assembly, {
      emit: (event) => {
        if (event.type === 'sync-started') syncs[event.collection] = (syncs[event.collection] ?? 0) + 1;
      },
    });
    return { plan, syncs };
  }

  async function published(mirror: Mirror, change: number): Promise<void> {
    const { clock, district } = mirror.hub;
    clock.advance(1_000);
    district.patch('courses', district.ids('courses')[change] ?? '', { title: `Course ${change}` });
    await mirror.delta('courses');
  }

  it('leaves out what was published before it is compared', async () => {
    await using mirror = await openMirror({ collections: ['courses', 'orgs'] });
    await mirror.full();
    const { district } = mirror.hub;
    const changed = district.ids('courses').at(-1) ?? '';
    let isDisturbed = false;
    const assembly = disturbed(mirror.assembly, {
      name: 'courses',
      disturb: async () => {
        if (isDisturbed) return;
        isDisturbed = true;
        district.patch('courses', changed, { title: 'Not published yet' });
        await published(mirror, 0);
      },
    });
    const { plan, syncs } = await planCounting(assembly);
    expect(plan.map(({ collection, basis }) => [collection, basis])).toEqual([
      ['orgs', 'index'],
      ['courses', 'index'],
    ]);
    expect(plan.map(({ outcome }) => outcome)).toEqual(['complete', 'complete']);
    expect(syncs).toEqual({ orgs: 1, courses: 1 });
  });

  it('follows a sync of the owner that changes nothing', async () => {
    await using mirror = await openMirror({ collections: ['courses', 'orgs'] });
    await mirror.full();
    let owners = 0;
    const assembly = disturbed(mirror.assembly, {
      name: 'courses',
      // Not at each look-up: the one that is made again after a transaction would meet the next.
      disturb: async () => {
        owners += 1;
        if (owners % 2 === 1) await mirror.delta('courses');
      },
    });
    const { plan, syncs } = await planCounting(assembly);
    expect(owners).toBeGreaterThan(0);
    expect(plannedLines(plan)).toEqual([]);
    expect(plan.map(({ basis }) => basis)).toEqual(['index', 'index']);
    expect(syncs).toEqual({ orgs: 1, courses: 1 });
  });
});
