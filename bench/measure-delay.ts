import { EventEmitter, once } from 'node:events';
import { Kafka, logLevel } from 'kafkajs';
import type { Bench } from './bench.ts';
import { INCREMENTAL, FULL, startPublisher, TENANT } from './chain-publishers.ts';
import type { Child } from './child-process.ts';
import { nextHubSecond, oneSync } from './syncs.ts';

/** From the hub's answer with changed rows until a `read_committed` consumer has each record, ms, of all rounds together. */
export interface DelayNumbers {
  readonly p50: number;
  readonly p99: number;
  readonly records: number;
}

const ROWS_CHANGED = 100;
/** The slowest of a hundred says little with fewer transactions. */
const TRANSACTIONS_A_ROUND = 5;
/** No other part of the benchmark gives the hub's rows such values: each row must change. */
const UNUSED_VALUE = 100_000;

export async function measureDelay(bench: Bench): Promise<DelayNumbers> {
  await using publisher = await startPublisher(bench, 'without');
  const { child } = publisher;
  await child.call('own', TENANT);
  await oneSync(child, FULL);
  const rows = await bench.hub.control<readonly { readonly sourcedId: string }[]>('snapshot/absences');
  const ids = rows.slice(0, ROWS_CHANGED).map(({ sourcedId }) => sourcedId);
  await using consumer = await startConsumer(bench, await child.call<string>('rowsTopic', INCREMENTAL));
  const delays: number[] = [];
  for (let turn = 0; turn <= bench.rounds * TRANSACTIONS_A_ROUND; turn += 1) {
    bench.print(`delay of ${ids.length} changed rows, ${turn}`);
    const found = await oneTransaction(bench, { child, consumer, ids, turn });
    // V8 compiles in the first one.
    if (turn > 0) delays.push(...found);
  }
  return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), records: delays.length };
}

async function oneTransaction(
  { hub }: Bench,
  of: { child: Child; consumer: Consumer; ids: readonly string[]; turn: number },
): Promise<number[]> {
  const { child, consumer, ids, turn } = of;
  await nextHubSecond();
  await oneSync(child, INCREMENTAL);
  const fields = { absenceDurationValue: UNUSED_VALUE + turn };
  await hub.control('district', {
    calls: ids.map((id) => ({ do: 'patch', with: ['absences', id, fields] })),
  });
  const arrived = consumer.next(ids.length);
  const { rowsUpdated } = await oneSync(child, INCREMENTAL);
  if (rowsUpdated !== ids.length) throw new Error(`${rowsUpdated} of ${ids.length} changed rows were found`);
  const answeredAtMs = await child.call<number>('answeredAt');
  return (await arrived).map((atMs) => atMs - answeredAtMs);
}

interface Consumer extends AsyncDisposable {
  /** When the next records arrive, ms since 1970. */
  next(records: number): Promise<readonly number[]>;
}

/** Reads a topic from its end, only what is committed. Resolves when it reads. */
async function startConsumer({ stack, signal }: Bench, topic: string): Promise<Consumer> {
  const kafka = new Kafka({ brokers: stack.kafkaBrokers, logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `${topic}-bench`, readUncommitted: false });
  const arrivals = new EventEmitter();
  const times: number[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: false });
  // Before its first fetch has ended, the end of the topic may still be unknown.
  const fetches = new Promise<void>((resolve) => consumer.on(consumer.events.FETCH, () => resolve()));
  await consumer.run({
    eachBatch: async ({ batch }) => {
      const atMs = performance.timeOrigin + performance.now();
      for (const _ of batch.messages) times.push(atMs);
      arrivals.emit('records');
    },
  });
  await fetches;
  return {
    async next(records) {
      const from = times.length;
      while (times.length < from + records) await once(arrivals, 'records', { signal });
      return times.slice(from);
    },
    async [Symbol.asyncDispose]() {
      await consumer.disconnect();
    },
  };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}
