import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import type { KafkaConnections } from '../../../src/log/wire/kafka-connections.ts';
import { kafkaTransactionBrokers } from '../../../src/log/wire/kafka-transaction-brokers.ts';
import type { KafkaBroker } from '../../../src/log/wire/kafka-broker.ts';

const { lookup } = createRequire(import.meta.url)('kafkajs/src/protocol/requests') as {
  lookup: (versions: object) => KafkaBroker['lookupRequest'];
};
const VERSIONS = { 0: { minVersion: 3, maxVersion: 7 }, 24: { minVersion: 0, maxVersion: 1 } };
const PRODUCER = { transactionalId: 'p.t', producerId: 1n, producerEpoch: 0 };

/** Brokers of which each gives that answer to a request, after kafkajs has decoded it. */
function brokersThatAnswer(answer: object) {
  const ask: KafkaConnections['ask'] = async (_, requestFor) =>
    (await requestFor({ lookupRequest: lookup(VERSIONS) }).response.parse(answer)) as never;
  return kafkaTransactionBrokers({ ask } as KafkaConnections, () => undefined);
}

it('the error of a refused transaction names the topic to which the right is missing, and no other', async () => {
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

it('batches go over the connection for batches, and requests that begin or end transactions do not', async () => {
  const purposes: unknown[] = [];
  const ask = async (...[, , purpose]: Parameters<KafkaConnections['ask']>) => {
    purposes.push(purpose);
    return { topics: [], errors: [] };
  };
  const brokers = kafkaTransactionBrokers({ ask } as unknown as KafkaConnections, () => undefined);
  await brokers.addPartitions(1, PRODUCER, new Map());
  await brokers.produce(1, { producer: PRODUCER, batches: [], timeoutMs: 1 });
  await brokers.endTransaction(1, PRODUCER, true);
  expect(purposes).toEqual([undefined, 'batches', undefined]);
});
