import { expect, it } from 'vitest';
import { RecordBatch } from '../../../src/log/wire/record-batch.ts';
import {
  RequestFailure,
  type PartitionAnswer,
  type ProduceRequest,
  type TransactionBrokers,
} from '../../../src/log/transaction-brokers.ts';
import { TransactionalProducer } from '../../../src/log/transactional-producer.ts';

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

/** A producer on brokers that do all at once, but for what is given. */
function producerOn(brokers: Partial<TransactionBrokers>, produce: Produce = appended) {
  let nowMs = 0;
  const requests: string[] = [];
  const sent: { readonly node: number; readonly topic: string; readonly bytes: Buffer }[] = [];
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
      addPartitions: async (_, __, partitions) => void requests.push(`add ${[...partitions.keys()].join()}`),
      produce: (node, request) => {
        attempts += 1;
        for (const { topic, bytes } of request.batches) sent.push({ node, topic, bytes: Buffer.from(bytes) });
        requests.push(`produce to ${node}`);
        return produce(node, request, attempts);
      },
      endTransaction: async (_, __, isCommit) => void requests.push(isCommit ? 'commit' : 'abort'),
      ...brokers,
    },
  });
  return { producer, requests, sent, now: () => nowMs };
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

it('a transactional producer adds all partitions at once, then asks each leader once, then commits', async () => {
  const { producer, requests } = await begun(producerOn({}));
  await producer.send([batchOf('users'), batchOf('results')]);
  await producer.commit();
  expect(requests).toEqual(['add users,results', 'produce to 1', 'produce to 2', 'commit']);
});

it('a transactional producer sends a refused batch again with the same bytes to the new leader', async () => {
  let leaders: ReadonlyMap<string, number> = LEADERS;
  const produce: Produce = (node, request, attempt) => {
    if (node !== 1) return appended(node, request, attempt);
    leaders = new Map([...LEADERS, ['users/0', 3]]);
    return refused('NOT_LEADER_FOR_PARTITION')(node, request, attempt);
  };
  const { producer, sent } = await begun(producerOn({ leadersOf: async () => leaders }, produce));
  expect(await producer.send([batchOf('users'), batchOf('results')])).toHaveLength(2);
  expect(sent.map(({ node, topic }) => [node, topic])).toEqual([
    [1, 'users'],
    [2, 'results'],
    [3, 'users'],
  ]);
  expect(sent[2]?.bytes.equals(sent[0]?.bytes ?? Buffer.alloc(0))).toBe(true);
});

it('a transactional producer sends nothing again while a broker has not answered yet', async () => {
  const slow = Promise.withResolvers<void>();
  const produce: Produce = async (node, request, attempt) => {
    if (attempt === 1) return refused('NOT_ENOUGH_REPLICAS')(node, request, attempt);
    if (node === 2) await slow.promise;
    return appended(node, request, attempt);
  };
  const { producer, sent } = await begun(producerOn({}, produce));
  const sending = producer.send([batchOf('users'), batchOf('results')]);
  await new Promise(setImmediate);
  expect(sent).toHaveLength(2);
  slow.resolve();
  await sending;
  expect(sent).toHaveLength(3);
});

it('a transactional producer does not repeat a batch that no broker has answered', async () => {
  const produce: Produce = (node, request, attempt) =>
    node === 1 ? Promise.reject(new RequestFailure('unanswered')) : appended(node, request, attempt);
  const { producer, sent } = await begun(producerOn({}, produce));
  await expect(producer.send([batchOf('users'), batchOf('results')])).rejects.toMatchObject({
    outcome: 'unanswered',
  });
  expect(sent).toHaveLength(2);
});

it('a transactional producer repeats a commit that was refused for now, and no unanswered one', async () => {
  const outcomes = [
    new RequestFailure('refused', { type: 'CONCURRENT_TRANSACTIONS' }),
    new RequestFailure('unanswered'),
  ];
  let asked = 0;
  const endTransaction = async (): Promise<void> => {
    asked += 1;
    throw outcomes[asked - 1] ?? new Error('asked once more');
  };
  const { producer } = await begun(producerOn({ endTransaction }));
  await producer.send([batchOf('users')]);
  await expect(producer.commit()).rejects.toMatchObject({ outcome: 'unanswered' });
  expect(asked).toBe(2);
});

it.each([
  'TOPIC_AUTHORIZATION_FAILED',
  'MESSAGE_TOO_LARGE',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'INVALID_PRODUCER_EPOCH',
])('a transactional producer gives up at once after %s, and names the topic', async (type) => {
  const { producer, sent } = await begun(producerOn({}, refused(type)));
  await expect(producer.send([batchOf('users')])).rejects.toMatchObject({ type, topic: 'users' });
  expect(sent).toHaveLength(1);
});

it('a transactional producer gives up after 25 seconds of refusals that could pass', async () => {
  const { producer, now } = await begun(producerOn({}, refused('NOT_ENOUGH_REPLICAS')));
  await expect(producer.send([batchOf('users')])).rejects.toMatchObject({ type: 'NOT_ENOUGH_REPLICAS' });
  expect(now()).toBeGreaterThanOrEqual(25_000);
  expect(now()).toBeLessThan(26_000);
});

it('a transactional producer sends nothing after it was closed', async () => {
  const { producer, requests } = await begun(producerOn({}));
  producer.close();
  const before = requests.length;
  for (const attempt of [() => producer.send([batchOf('users')]), () => producer.commit()])
    await expect((async () => attempt())()).rejects.toThrow('not open');
  expect(requests).toHaveLength(before);
});
