import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { withAdmin } from '../../integration/support/stack-kafka.ts';
import { startOwnKafka } from '../support/kafka.ts';
import { Workers } from '../support/workers.ts';

const TENANTS = 200;
const SESSION_MS = 6_000;
const ASLEEP_MS = 120_000;
const STORM = [true, false, true, true, false, true, false, true, false, false];

it('workers that join, leave, die or sleep move only the tenants that must move, in the promised time', async () => {
  await using workers = await Workers.start({
    tenants: TENANTS,
    incrementalEvery: '20s',
    sessionMs: SESSION_MS,
  });
  const joins = async (): Promise<void> =>
    expect(await workers.moved(() => workers.start())).toBe(Math.floor(TENANTS / workers.living.length));
  const [some, third] = [[66, 67], Math.floor(TENANTS / 3)];
  expect(await workers.moved(() => workers.start())).toBe(TENANTS);
  await joins();
  await joins();
  expect(some).toContain(await workers.moved(async () => workers.takeOldest().kill('SIGKILL'), 1));
  await joins();
  const sleeping = workers.takeOldest();
  const asleep = async (): Promise<void> => {
    sleeping.kill('SIGSTOP');
    await delay(ASLEEP_MS);
  };
  expect(some).toContain(await workers.moved(asleep, 1));
  const wakes = async (): Promise<void> => {
    workers.living.push(sleeping);
    sleeping.kill('SIGCONT');
  };
  expect(await workers.moved(wakes)).toBe(third);
  expect(sleeping.output()).toContain('Kafka has not confirmed the membership of this process');
  expect(some).toContain(await workers.moved(() => workers.end()));
  await joins();
  vi.stubEnv('ROLLCALL_REVISION', 'two');
  let moved = 0;
  for (let left = workers.living.length; left > 0; left -= 1)
    moved += await workers.moved(async () => {
      const successor = await workers.start();
      await successor.says('no tenant is assigned to this process');
      await workers.end();
    });
  expect(moved).toBe(TENANTS);
  // One that ends before it learns its part is missed only after a session.
  await workers.moved(async () => {
    const ending: Promise<void>[] = [];
    for (const isJoin of STORM) {
      if (isJoin) await workers.start();
      else ending.push(workers.end());
      await delay(1_000);
    }
    await Promise.all(ending);
  }, 2);
  await workers.expectAllWell();
});

it('workers keep their tenants when the broker that coordinates their group is killed', async () => {
  // One partition, so that its leader coordinates every group.
  await using kafka = await startOwnKafka({ 'offsets.topic.num.partitions': 1 });
  await using workers = await Workers.start({
    tenants: 12,
    incrementalEvery: '1s',
    sessionMs: 10_000,
    kafka,
  });
  await workers.moved(() => workers.start());
  const topic = '__consumer_offsets';
  const coordinator = (): Promise<number> =>
    withAdmin(async (admin) => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return topics[0]?.partitions[0]?.leader ?? 0;
    }, kafka.brokers);
  await workers.moved(() => workers.start());
  await workers.moved(() => workers.start());
  const killed = await coordinator();
  const service = kafka.services[killed - 1];
  const isKilled = async (): Promise<void> => {
    service?.kill('SIGKILL');
    await vi.waitFor(async () => expect(await coordinator()).not.toBe(killed));
    await workers.expectEqual();
  };
  expect(await workers.moved(isKilled)).toBe(0);
  await service?.restart();
  // A join shows that the group goes on.
  expect(await workers.moved(() => workers.start())).toBe(3);
  await workers.expectAllWell();
});
