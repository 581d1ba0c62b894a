import { expect, inject, it } from 'vitest';
import { newTopicPrefix } from '../../integration/support/mirror.ts';
import { startKafkaCluster, type KafkaCluster } from '../support/kafka-cluster.ts';
import { startTenantWorkers } from '../support/tenant-workers.ts';

const TENANTS = 12;
const SESSION_MS = 10_000;

/** One whose group is not coordinated by the controller, which stays. */
async function prefixBesideController(kafka: KafkaCluster): Promise<{ topicPrefix: string; id: number }> {
  for (;;) {
    const topicPrefix = newTopicPrefix();
    const id = await kafka.coordinatorOf(`${topicPrefix}.workers`);
    if (id !== 1) return { topicPrefix, id };
  }
}

it('kill -9 of the broker that coordinates the group moves no tenant, and all goes on within seconds, with nothing lost or published twice', async () => {
  await using kafka = await startKafkaCluster();
  const { topicPrefix, id } = await prefixBesideController(kafka);
  const servers = { ...inject('stack'), kafkaBrokers: kafka.brokers };
  await using workers = await startTenantWorkers({
    tenants: TENANTS,
    deltaEvery: '1s',
    sessionMs: SESSION_MS,
    servers,
    replicationFactor: 3,
    topicPrefix,
  });
  await workers.moves('the first starts', () => workers.start());
  await workers.moves('the second joins', () => workers.start());
  await workers.moves('the third joins', () => workers.start());
  await workers.expectEqual();
  const killed = await workers.moves('kill -9 of the coordinator', async () => {
    kafka.services.get(id)?.kill('SIGKILL');
    const startedAtMs = performance.now();
    await workers.expectEqual();
    console.info(
      `a change is in the topics of all tenants after ${Math.round(performance.now() - startedAtMs)} ms`,
    );
  });
  expect(killed.moved).toBe(0);
  expect(await kafka.coordinatorOf(`${topicPrefix}.workers`)).not.toBe(id);
  await kafka.services.get(id)?.restart();
  // A join shows that the group goes on.
  const joined = await workers.moves('a fourth joins', () => workers.start());
  expect(joined.moved).toBe(TENANTS / 4);
  await workers.expectAllWell();
});
