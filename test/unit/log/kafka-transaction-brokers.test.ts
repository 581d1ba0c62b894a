import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import type { KafkaBroker, KafkaCluster } from '../../../src/log/kafka-cluster.ts';
import { KafkaTransactionBrokers } from '../../../src/log/kafka-transaction-brokers.ts';

const inKafkaJs = createRequire(import.meta.url);
const { lookup } = inKafkaJs('kafkajs/src/protocol/requests') as {
  lookup: (versions: object) => KafkaBroker['lookupRequest'];
};
const { createErrorFromCode } = inKafkaJs('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error;
};
const VERSIONS = { 0: { minVersion: 3, maxVersion: 7 }, 24: { minVersion: 0, maxVersion: 1 } };
const PRODUCER = { transactionalId: 'p.t', producerId: 1n, producerEpoch: 0 };

/** Brokers of which each gives that answer to a request, after kafkajs has decoded it. */
function brokersThatAnswer(answer: object): KafkaTransactionBrokers {
  const broker: Partial<KafkaBroker> = {
    lookupRequest: lookup(VERSIONS),
    connectionPool: { send: async ({ response }) => response.parse(answer) },
    endTxn: async () => {
      throw createErrorFromCode(47);
    },
  };
  const cluster: Partial<KafkaCluster> = { findBroker: async () => broker as KafkaBroker };
  return new KafkaTransactionBrokers(cluster as KafkaCluster);
}

it('the topic without a right is named, although other partitions come first that were not attempted', async () => {
  const errors = [
    { topic: 'p.t.users', partitionErrors: [{ partition: 0, errorCode: 55 }] },
    { topic: 'p.t.results', partitionErrors: [{ partition: 0, errorCode: 29 }] },
  ];
  await expect(brokersThatAnswer({ errors }).addPartitions(1, PRODUCER, new Map())).rejects.toMatchObject({
    outcome: 'refused',
    type: 'TOPIC_AUTHORIZATION_FAILED',
    topic: 'p.t.results',
  });
});

it('each partition of a produce request has its own answer, whatever became of the others', async () => {
  const partitions = [
    { partition: 0, errorCode: 0, baseOffset: '12' },
    { partition: 1, errorCode: 6, baseOffset: '-1' },
    { partition: 2, errorCode: 90, baseOffset: '-1' },
  ];
  const brokers = brokersThatAnswer({ topics: [{ topicName: 'p.t.users', partitions }] });
  expect(await brokers.produce(1, { producer: PRODUCER, batches: [], timeoutMs: 1 })).toEqual([
    { topic: 'p.t.users', partition: 0, error: null, baseOffset: 12 },
    { topic: 'p.t.users', partition: 1, error: 'NOT_LEADER_FOR_PARTITION', baseOffset: -1 },
    { topic: 'p.t.users', partition: 2, error: 'PRODUCER_FENCED', baseOffset: -1 },
  ]);
});

it('a refused commit is told from one that no broker has answered', async () => {
  const brokers = brokersThatAnswer({});
  await expect(brokers.endTransaction(1, PRODUCER, true)).rejects.toMatchObject({
    outcome: 'refused',
    type: 'INVALID_PRODUCER_EPOCH',
  });
});
