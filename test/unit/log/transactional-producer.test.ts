import { expect, it } from 'vitest';
import { RecordBatch } from '../../../src/log/wire/record-batch.ts';
import type { PartitionAnswer, ProduceRequest } from '../../../src/log/transaction-brokers.ts';
import { TransactionalProducer } from '../../../src/log/transactional-producer.ts';

// test/simulation/cluster plays what would double or lose records: partitions not added, a batch or a commit sent again wrongly.

const TRANSACTIONAL_ID = 'p.t';
/** Users are led by broker 1, results by broker 2. */
const LEADERS = new Map([
  ['users/0', 1],
  ['results/0', 2],
]);

type Produce = (
  node: number,
  request: ProduceRequest,
  attempt: number,
) => Promise<readonly PartitionAnswer[]>;

const appended: Produce = async (_, { batches }) =>
  batches.map(({ topic, partition }) => ({ topic, partition, error: null, baseOffset: 7 }));

const refused =
  (error: string): Produce =>
  async (_, { batches }) =>
    batches.map(({ topic, partition }) => ({ topic, partition, error, baseOffset: -1 }));

/** A producer on brokers that answer batches so, and do all else at once. `sent`: topics of batches, and ends of transactions. */
function producerOn(produce: Produce) {
  let nowMs = 0;
  const sent: string[] = [];
  let attempts = 0;
  const producer = new TransactionalProducer({
    transactionalId: TRANSACTIONAL_ID,
    now: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
    },
    brokers: {
      leadersOf: async () => LEADERS,
      coordinatorOf: async () => 3,
      initProducerId: async () => ({ transactionalId: TRANSACTIONAL_ID, producerId: 1n, producerEpoch: 4 }),
      addPartitions: async () => undefined,
      produce: (node, request) => {
        attempts += 1;
        sent.push(...request.batches.map(({ topic }) => topic));
        return produce(node, request, attempts);
      },
      endTransaction: async () => void sent.push('end'),
    },
  });
  return { producer, sent, now: () => nowMs };
}

function batchOf(topic: string) {
  const batch = new RecordBatch();
  batch.append({ key: topic, body: null, schemaId: null, headers: {} });
  return { topic, partition: 0, batch };
}

const BOTH = new Map([
  ['users', [0]],
  ['results', [0]],
]);

/** Opens it and begins a transaction of both topics. */
async function begun(parts: ReturnType<typeof producerOn>): Promise<ReturnType<typeof producerOn>> {
  await parts.producer.open();
  await parts.producer.begin(BOTH);
  return parts;
}

it('a transactional producer sends nothing again while a broker has not answered yet', async () => {
  const slow = Promise.withResolvers<void>();
  const produce: Produce = async (node, request, attempt) => {
    if (attempt === 1) return refused('NOT_ENOUGH_REPLICAS')(node, request, attempt);
    if (node === 2) await slow.promise;
    return appended(node, request, attempt);
  };
  const { producer, sent } = await begun(producerOn(produce));
  const sending = producer.send([batchOf('users'), batchOf('results')]);
  await new Promise(setImmediate);
  expect(sent).toHaveLength(2);
  slow.resolve();
  await sending;
  expect(sent).toHaveLength(3);
});

it.each([
  'TOPIC_AUTHORIZATION_FAILED',
  'MESSAGE_TOO_LARGE',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'INVALID_PRODUCER_EPOCH',
])('a transactional producer gives up at once after %s, and names the topic', async (type) => {
  const { producer, sent } = await begun(producerOn(refused(type)));
  await expect(producer.send([batchOf('users')])).rejects.toMatchObject({ type, topic: 'users' });
  expect(sent).toHaveLength(1);
});

it('a transactional producer gives up after 25 seconds of transient refusals', async () => {
  const { producer, now } = await begun(producerOn(refused('NOT_ENOUGH_REPLICAS')));
  await expect(producer.send([batchOf('users')])).rejects.toMatchObject({ type: 'NOT_ENOUGH_REPLICAS' });
  expect(now()).toBeGreaterThanOrEqual(25_000);
  expect(now()).toBeLessThan(26_000);
});

it('a transactional producer sends nothing after it was closed', async () => {
  const { producer, sent } = await begun(producerOn(appended));
  producer.close();
  for (const attempt of [() => producer.send([batchOf('users')]), () => producer.commit()])
    await expect((async () => attempt())()).rejects.toThrow('not open');
  expect(sent).toEqual([]);
});
