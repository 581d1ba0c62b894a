import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { planTenant } from '../../../src/plan/plan-tenant.ts';
import { PLANNED_KINDS } from '../../../src/plan/recording-log.ts';
import { assemble, type Assembly } from '../../../src/session/assemble.ts';
import { configTextOf, openMirror, type Mirror } from '../support/mirror.ts';
import { publishedLines } from '../support/planned.ts';
import { recreateTopic } from '../support/stack-kafka.ts';
import { copyRedis, flushRedis } from './redis-copy.ts';

const TEN_MINUTES_MS = 600_000;
const OPTIONS = {
  collections: { 'class-students': { enabled: true } },
  afterschools: ['afterschool-1'],
  // Those of absent students need the field that the changed mapping takes out.
  tenant: { schedules: { students: 'all' } },
  hubOptions: { students: 12, seed: 11 },
  settings: {
    deletions: { holdAbove: { rows: 10_000, ratio: 1 } },
    pseudonymise: { key: 'a key of sixteen or more' },
  },
};

/** `<collection> <kind> <key>` of all that a full sync would publish. */
async function planned(assembly: Assembly): Promise<readonly string[]> {
  const plan = await planTenant(assembly, {
    tenantId: 'north',
    collections: [],
    keepsKeys: true,
    emit: () => undefined,
    onRead: () => undefined,
    signal: new AbortController().signal,
  });
  expect(plan.filter(({ outcome }) => outcome !== 'complete')).toEqual([]);
  const lines = plan.flatMap(({ collection, keys }) =>
    PLANNED_KINDS.flatMap((kind) => keys[kind].map((key) => `${collection} ${kind} ${key}`)),
  );
  return lines.toSorted();
}

/** Makes a plan, which publishes nothing, then the full sync that it is of; returns what was published. */
async function expectPlanned(mirror: Mirror): Promise<readonly string[]> {
  const before = await mirror.ends();
  const lines = await planned(mirror.assembly);
  expect(await mirror.since(before)).toEqual([]);
  await mirror.fullUnconfirmed();
  expect(publishedLines(await mirror.since(before))).toEqual(lines);
  return lines;
}

it('a plan equals what the next full sync publishes, whatever has changed or was lost before', async () => {
  await using mirror = await openMirror(OPTIONS);
  const { living, clock, district } = mirror.hub;
  expect((await expectPlanned(mirror)).length).toBeGreaterThan(500);
  expect(await expectPlanned(mirror)).toEqual([]);

  const [broken = '', removed = ''] = district.ids('absence-versions');
  const { fromTime = null } = district.get('absence-versions', broken) ?? {};
  const lines: string[] = [];
  for (const changed of ['a quarter past nine', fromTime]) {
    clock.advance(TEN_MINUTES_MS);
    living.step(40);
    district.patch('absence-versions', broken, { fromTime: changed });
    district.remove('absence-versions', removed);
    lines.push(...(await expectPlanned(mirror)));
  }
  const kinds = new Set(lines.map((line) => line.split(' ').slice(0, 2).join(' ')));
  for (const kind of ['created', 'deleted', 'rejected', 'unrejected'])
    expect(kinds).toContain(`absence-versions ${kind}`);
  for (const kind of ['created', 'replaced']) expect(kinds).toContain(`absence-changes ${kind}`);

  const copy = await copyRedis(mirror.topicPrefix);
  clock.advance(TEN_MINUTES_MS);
  living.step(20);
  await mirror.full();
  living.step(10);
  await copy.restore();
  const resumed = await planned(mirror.assembly);
  await flushRedis(mirror.topicPrefix);
  expect([await planned(mirror.assembly), resumed.length > 0]).toEqual([resumed, true]);
  const before = await mirror.ends();
  await mirror.restart();
  await mirror.fullUnconfirmed();
  expect(publishedLines(await mirror.since(before))).toEqual(resumed);

  await mirror.ends();
  await recreateTopic(mirror.topic('courses'));
  const collections = {
    ...OPTIONS.collections,
    'absence-versions': { pseudonymise: ['student'], drop: ['school'] },
  };
  const { hub, topicPrefix } = mirror;
  const configText = configTextOf(hub, topicPrefix, { ...OPTIONS, collections });
  const config = loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => configText });
  await using assembly = assemble(config);
  const changed = await planned(assembly);
  const rows = district.ids('courses').length + district.ids('absence-versions').length;
  expect(changed.length).toBeGreaterThan(rows);
  const ends = await mirror.ends();
  await using restarted = await openMirror({ ...OPTIONS, collections, hub, topicPrefix });
  await restarted.fullUnconfirmed();
  expect(publishedLines(await mirror.since(ends))).toEqual(changed);
});
