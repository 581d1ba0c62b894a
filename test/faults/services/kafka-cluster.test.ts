import { afterAll, afterEach, expect, vi } from 'vitest';
import { alterTopic, withAdmin } from '../../integration/support/stack-kafka.ts';
import { strikeEach, type Fault } from '../support/faults.ts';
import { startOwnKafka } from '../support/kafka.ts';
import type { TroubledTenant } from '../support/tenant.ts';

/** Leaders go to the first replica of each partition, wherever that one is, within a second or two. */
const EAGER_LEADERS = {
  'leader.imbalance.check.interval.seconds': 1,
  'leader.imbalance.per.broker.percentage': 0,
};
const BROKER_IDS = [1, 2, 3] as const;
const MOVES = 4;

const kafka = await startOwnKafka(EAGER_LEADERS);
afterAll(() => kafka[Symbol.asyncDispose]());
// A test that failed leaves no broker away to the next one.
afterEach(async () => {
  kafka.network.mend();
  await kafka.areBack(
    ...[...kafka.services.keys()].filter((at) => kafka.services[at]?.isRunning() === false),
  );
});

/** Makes broker after broker the leader of all partitions of the tenant's topics, and of all transactions. */
async function leadBy(first: number, { topics }: TroubledTenant): Promise<void> {
  const replicas = BROKER_IDS.map((_, at) => BROKER_IDS[(first + at) % BROKER_IDS.length] ?? 0);
  const moved = [...topics, '__transaction_state'];
  await withAdmin(async (admin) => {
    const metadata = await admin.fetchTopicMetadata({ topics: moved });
    await admin.alterPartitionReassignments({
      topics: metadata.topics.map(({ name: topic, partitions }) => ({
        topic,
        partitionAssignment: partitions.map(({ partitionId: partition }) => ({ partition, replicas })),
      })),
    });
    await vi.waitFor(async () => {
      const now = await admin.fetchTopicMetadata({ topics: moved });
      const leaders = now.topics.flatMap(({ partitions }) => partitions.map(({ leader }) => leader));
      expect(new Set(leaders)).toEqual(new Set([replicas[0]]));
    });
  }, kafka.brokers);
}

const FAULTS: readonly Fault[] = [
  {
    name: 'leaders and coordinator moved between brokers',
    isBrief: true,
    async strike(tenant) {
      for (let move = 0; move < MOVES; move += 1) {
        await leadBy(move, tenant);
        await tenant.flows();
      }
      expect(tenant.child.output()).not.toContain('session-failed');
    },
  },
  {
    name: 'the coordinator was killed amid a transaction',
    async strike(tenant) {
      const coordinator = await kafka.network.at('addPartitionsToTxn', 'answered', kafka.kill);
      await tenant.flows();
      await kafka.areBack(coordinator);
      for (const when of ['sent', 'answered'] as const) {
        const next = await kafka.network.at('addPartitionsToTxn', 'answered', () => undefined);
        await kafka.network.at('produce', when, () => kafka.kill(next));
        await tenant.flows();
        await kafka.areBack(next);
      }
      await tenant.ready();
    },
  },
  {
    name: 'the brokers were restarted one after another',
    async strike(tenant) {
      for (const broker of kafka.services) {
        broker.kill('SIGTERM');
        await vi.waitUntil(() => !broker.isRunning());
        await broker.restart();
        await kafka.inSync();
        await tenant.flows();
      }
      await tenant.ready();
    },
  },
  {
    name: 'too few replicas in sync, then two brokers away',
    async strike(tenant) {
      const topic = tenant.topic('users');
      await alterTopic(topic, (before) => ({ ...before, 'min.insync.replicas': '3' }), kafka.brokers);
      kafka.kill(2);
      // In the commit, or afterwards, when the end of the transaction cannot be written.
      await tenant.child.says('min.insync.replicas');
      await tenant.notReady('kafka');
      await kafka.areBack(2);
      await tenant.ready();
      await alterTopic(topic, (before) => ({ ...before, 'min.insync.replicas': '2' }), kafka.brokers);
      kafka.kill(0);
      kafka.kill(1);
      await tenant.notReady('kafka');
      await kafka.areBack(0, 1);
    },
  },
];

strikeEach(FAULTS, (strike) => strike({ kafka }));
