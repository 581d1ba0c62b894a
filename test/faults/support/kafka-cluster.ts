import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { vi } from 'vitest';
import { freePort } from '../../../stack/free-port.ts';
import type { LocalService } from '../../../stack/local-service.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import { startLocalBroker } from '../../integration/support/local-broker.ts';

/** Three brokers; the first one is the controller, too. */
export interface KafkaCluster extends AsyncDisposable {
  readonly brokers: string[];
  /** By its id. */
  readonly services: ReadonlyMap<number, LocalService>;
  /** The id of the broker that coordinates a group. */
  coordinatorOf(groupId: string): Promise<number>;
}

const IDS = [1, 2, 3] as const;
const GROUPS = '__consumer_offsets';
const REPLICATED = {
  'broker.session.timeout.ms': 4_000,
  'broker.heartbeat.interval.ms': 1_000,
  'offsets.topic.replication.factor': 3,
  'offsets.topic.num.partitions': 3,
  'transaction.state.log.replication.factor': 3,
  'transaction.state.log.min.isr': 2,
  'transaction.state.log.num.partitions': 3,
};

export async function startKafkaCluster(): Promise<KafkaCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-cluster-'));
  const endJanitor = removeWhenGone(folder);
  const controller = `127.0.0.1:${await freePort()}`;
  const clusterId = randomBytes(16).toString('base64url');
  const services = new Map<number, LocalService>();
  const brokers: string[] = [];
  for (const id of IDS) {
    const port = await freePort();
    const isController = id === IDS[0];
    const own = `PLAINTEXT://127.0.0.1:${port}`;
    const { service } = await startLocalBroker({
      name: `Kafka ${id} of ${IDS.length}`,
      folder: join(folder, String(id)),
      listeners: [{ name: 'PLAINTEXT', port, protocol: 'PLAINTEXT' }],
      settings: {
        ...REPLICATED,
        'node.id': id,
        'process.roles': isController ? 'broker,controller' : 'broker',
        'controller.quorum.bootstrap.servers': controller,
        listeners: isController ? `${own},CONTROLLER://${controller}` : own,
      },
      cluster: { id: clusterId, isController },
    });
    services.set(id, service);
    brokers.push(`127.0.0.1:${port}`);
  }
  return {
    brokers,
    services,
    coordinatorOf: (groupId) => coordinatorOf(brokers, groupId),
    async [Symbol.asyncDispose]() {
      for (const service of services.values()) await service.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      endJanitor();
    },
  };
}

/** The leader of the partition of {@link GROUPS} that keeps the group, by the hash of Java. */
async function coordinatorOf(brokers: string[], groupId: string): Promise<number> {
  const hash = Buffer.from(groupId, 'latin1').reduce((sum, byte) => (31 * sum + byte) | 0, 0) & 0x7f_ff_ff_ff;
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await vi.waitFor(
      async () => {
        // The first question about a group creates the topic.
        await admin.describeGroups([groupId]);
        const { topics } = await admin.fetchTopicMetadata({ topics: [GROUPS] });
        const partitions = topics[0]?.partitions ?? [];
        const leader = partitions.find(({ partitionId }) => partitionId === hash % partitions.length)?.leader;
        if (leader === undefined || leader < 1) throw new Error('the partition of the group has no leader');
        return leader;
      },
      { timeout: 60_000, interval: 500 },
    );
  } finally {
    await admin.disconnect();
  }
}
