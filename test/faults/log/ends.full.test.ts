import { afterAll, describe, expect, it } from 'vitest';
import { patchKafkaJs } from '../../../src/log/wire/kafkajs-patches.ts';
import { copyRedis, flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { readTopicsAt, type TopicRecord } from '../../integration/support/read-topics.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { compactUntil, EAGER_CLEANER } from '../support/compaction.ts';
import { startOwnKafka } from '../support/kafka.ts';
import { CLOCK_MAIN, machineClock } from '../support/machine-clock.ts';
import { troubledTenant, type TroubledTenant } from '../support/tenant.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
/** A compacted topic no longer shows what was published; every other topic must. */
const COMPACTED = { lost: ['orgs'], clocksAgree: false };

// The reader of the tests needs it as much as Rollcall's does.
patchKafkaJs();
const kafka = await startOwnKafka(EAGER_CLEANER, 1);
afterAll(() => kafka[Symbol.asyncDispose]());

/** So many partitions that an org has one to itself. */
function tenantOfOrgs(seed: number): Promise<TroubledTenant> {
  const kafkaSettings = { partitions: { default: 3, orgs: 12 } };
  return troubledTenant({ seed, kafka, kafkaSettings, rows: ['orgs', 'users'] });
}

function orgRecords(tenant: TroubledTenant): Promise<TopicRecord[]> {
  return readTopicsAt(tenant.servers, [tenant.topic('orgs')]);
}

/** An org leaves the hub, its tombstone is published, and compaction removes every trace of it. */
async function leaveNoTrace(tenant: TroubledTenant, id: string): Promise<() => void> {
  const row = tenant.hub.district.get('orgs', id) ?? {};
  tenant.start();
  await tenant.heals(COMPACTED);
  tenant.hub.district.remove('orgs', id);
  tenant.history.note();
  await tenant.heals(COMPACTED);
  await tenant.endsWell(COMPACTED);
  const recordsOfIt = async () => (await orgRecords(tenant)).filter(({ key }) => key === id);
  expect((await recordsOfIt()).at(-1)?.value).toBeNull();
  await compactUntil(kafka.brokers, tenant.topic('orgs'), async () => (await recordsOfIt()).length === 0);
  return () => {
    tenant.hub.district.put('orgs', row);
    tenant.history.note();
  };
}

async function expectPublishedAgain(tenant: TroubledTenant, id: string): Promise<void> {
  await tenant.nextHeals(COMPACTED);
  const published = (await orgRecords(tenant)).filter(({ key }) => key === id);
  expect(published.map(({ value }) => value?.['sourcedId'])).toEqual([id]);
}

describe.each(ROUNDS)('round %i', (round) => {
  it('a row that left the hub and is back is published even if compaction removed its tombstone', async () => {
    await using tenant = await tenantOfOrgs(round);
    using clock = machineClock(-WEEK_MS);
    tenant.start(CLOCK_MAIN, clock.file);
    await tenant.heals({ clocksAgree: false });
    await tenant.endsWell({ clocksAgree: false });
    const backup = await copyRedis(tenant.topicPrefix);
    const [id = ''] = tenant.hub.district.ids('orgs');
    const comeBack = await leaveNoTrace(tenant, id);
    await backup.restore();
    comeBack();
    await expectPublishedAgain(tenant, id);
    expect(tenant.child.output()).toContain('the index is so old that the log may have lost removals since');
  });

  it('recovery reads a partition to its end even if compaction removed its last records', async () => {
    await using tenant = await tenantOfOrgs(round);
    await tenant.nextHeals();
    const byPartition = Map.groupBy(await orgRecords(tenant), ({ partition }) => partition);
    const [id = ''] = [...byPartition.values()].flatMap((records) =>
      records.length === 1 ? [records[0]?.key] : [],
    );
    const comeBack = await leaveNoTrace(tenant, id);
    await tenant.nextHeals(COMPACTED);
    await flushRedis(tenant.topicPrefix);
    await tenant.nextHeals(COMPACTED);
    comeBack();
    await expectPublishedAgain(tenant, id);
  });
});
