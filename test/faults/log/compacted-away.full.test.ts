import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { patchKafkaJs } from '../../../src/log/kafkajs-patches.ts';
import { copyRedis, flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { startScript } from '../../integration/pipeline/rollcall-process.ts';
import type { Mirror } from '../../integration/support/mirror.ts';
import { readTopicsAt, type TopicRecord } from '../../integration/support/read-topics.ts';
import { allProblems } from '../support/checker.ts';
import { CHURN_SETTINGS } from '../support/churn.ts';
import { compactUntil, EAGER_CLEANER } from '../support/compaction.ts';
import { CLOCK_MAIN, machineClock } from '../support/machine-clock.ts';
import { startOwnKafka, type OwnKafka } from '../support/own-kafka.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, endsSoon, expectHealsBy, type ChurnedTenant } from '../support/survive.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
/** Enough that an org has a partition to itself. */
const PARTITIONS = 12;

let kafka: OwnKafka;

beforeAll(async () => {
  // The reader of the tests needs it as much as Rollcall's does.
  patchKafkaJs();
  kafka = await startOwnKafka(EAGER_CLEANER);
});

afterAll(async () => {
  await kafka?.[Symbol.asyncDispose]();
});

function tenantOfOrgs(seed: number): Promise<ChurnedTenant> {
  const { brokers } = kafka;
  return churnedTenant(seed, {
    rows: ['orgs', 'users'],
    servers: { ...inject('stack'), kafkaBrokers: brokers },
    settings: {
      ...CHURN_SETTINGS,
      http: { port: 0 },
      kafka: { brokers, partitions: { default: 3, orgs: PARTITIONS } },
    },
  });
}

function orgRecords({ topicPrefix }: ChurnedTenant): Promise<TopicRecord[]> {
  const servers = { ...inject('stack'), kafkaBrokers: kafka.brokers };
  return readTopicsAt(servers, [`${topicPrefix}.north.orgs`]);
}

/** An org that has a partition to itself. */
async function loneOrg(tenant: ChurnedTenant): Promise<string> {
  const byPartition = Map.groupBy(await orgRecords(tenant), ({ partition }) => partition);
  const alone = [...byPartition.values()].find(
    (records) => new Set(records.map(({ key }) => key)).size === 1,
  );
  const key = alone?.[0]?.key;
  if (key === undefined) throw new Error('no org has a partition to itself');
  return key;
}

/** The org leaves the hub, its tombstone is published, and compaction removes every trace of it. */
async function leaveNoTrace(tenant: ChurnedTenant, id: string): Promise<() => void> {
  const row = tenant.hub.district.get('orgs', id) ?? {};
  {
    await using mirror = await tenant.next();
    await mirror.full();
    tenant.hub.district.remove('orgs', id);
    tenant.history.note();
    await mirror.full();
  }
  const recordsOfIt = async () => (await orgRecords(tenant)).filter(({ key }) => key === id);
  expect((await recordsOfIt()).at(-1)?.value).toBeNull();
  await compactUntil(kafka.brokers, `${tenant.topicPrefix}.north.orgs`, async () => {
    return (await recordsOfIt()).length === 0;
  });
  return () => {
    tenant.hub.district.put('orgs', row);
    tenant.history.note();
  };
}

/** A compacted topic no longer shows what was published; every other topic must. */
const COMPACTED = { lost: ['orgs'], clocksAgree: false };

async function expectPublishedAgain(tenant: ChurnedTenant, mirror: Mirror, id: string): Promise<void> {
  await mirror.full();
  expect(await allProblems(tenant, COMPACTED)).toEqual([]);
  const published = (await orgRecords(tenant)).filter(({ key }) => key === id);
  expect(published.map(({ value }) => value?.['sourcedId'])).toEqual([id]);
}

describe.each(ROUNDS)('after compaction has removed tombstones, round %i', (round) => {
  it('an index older than those tombstones is rebuilt, and a row that left and came back is published', async () => {
    await using tenant = await tenantOfOrgs(round);
    await using clock = await machineClock(-WEEK_MS);
    {
      await using lastWeek = await startScript(CLOCK_MAIN, {
        configText: tenant.configText,
        args: [clock.file],
      });
      await expectHealsBy(lastWeek, tenant, { clocksAgree: false });
      lastWeek.kill('SIGTERM');
      await endsSoon(lastWeek, 0);
    }
    const backup = await copyRedis({ topicPrefix: tenant.topicPrefix } as Mirror);
    const [id = ''] = tenant.hub.district.ids('orgs');
    const comeBack = await leaveNoTrace(tenant, id);
    await backup.restore();
    comeBack();
    await using mirror = await tenant.next();
    expect(mirror.events).toContainEqual(
      expect.objectContaining({
        type: 'caught-up',
        collection: 'orgs',
        how: 'rebuilt',
        why: 'the index is older than the removals that the log keeps',
      }),
    );
    await expectPublishedAgain(tenant, mirror, id);
  });

  it('a partition whose end is compacted away is read to its end, with an index and without one', async () => {
    await using tenant = await tenantOfOrgs(round);
    {
      await using mirror = await tenant.next();
      await mirror.full();
    }
    const id = await loneOrg(tenant);
    const comeBack = await leaveNoTrace(tenant, id);
    for (const lose of [false, true]) {
      if (lose) await flushRedis(tenant.topicPrefix);
      await using mirror = await tenant.next();
      await mirror.full();
      expect(await allProblems(tenant, COMPACTED)).toEqual([]);
    }
    comeBack();
    await using mirror = await tenant.next();
    await expectPublishedAgain(tenant, mirror, id);
  });
});
