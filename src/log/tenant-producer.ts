import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '../errors.ts';
import type { Turns } from '../semaphore.ts';
import { RecordBatch } from './wire/record-batch.ts';
import type { TopicPartition, TopicPartitions, TransactionBrokers } from './transaction-brokers.ts';
import { TransactionalProducer } from './transactional-producer.ts';

const END_MARKER_KEY = '@seal';

type Task<T> = (producer: TransactionalProducer) => Promise<T>;
/** Explains a failure. */
type ToError = (error: unknown) => RollcallError;

export type TenantProducer = ReturnType<typeof tenantProducer>;

/**
 * The one transactional producer of a tenant. A failed task discards it. `transactions`: limits how many transactions of
 * the process are open at once.
 */
export function tenantProducer(brokers: TransactionBrokers, transactionalId: string, transactions: Turns) {
  let current: TransactionalProducer | null = null;
  let lastFailure: RollcallError | null = null;
  let lastTurn: Promise<unknown> = Promise.resolve();

  function discard(): void {
    current?.close();
    current = null;
  }

  /** Runs a task as soon as the process may begin one more transaction. */
  function run<T>(task: Task<T>, toError: ToError): Promise<T> {
    const producer = current;
    return transactions.run(async () => {
      // Another task may have failed meanwhile.
      if (producer === null || producer !== current) throw nothingSent(transactionalId, lastFailure);
      try {
        return await task(producer);
      } catch (error) {
        lastFailure = toError(error);
        discard();
        throw lastFailure;
      }
    });
  }

  return {
    /** Creates a producer. Opening it fences older ones and resolves their open transaction. */
    create(): void {
      current = new TransactionalProducer({
        brokers,
        transactionalId,
        now: () => performance.now(),
        sleep: (ms) => delay(ms),
      });
    },
    run,
    /** Runs a task after all earlier ones, since a transaction must not begin within another one. */
    inTurn<T>(task: Task<T>, toError: ToError): Promise<T> {
      const turn = lastTurn.then(() => run(task, toError));
      lastTurn = turn.catch(() => undefined);
      return turn;
    },
    discard,
  };
}

/** The error of a task that waited for its turn while another one failed. */
function nothingSent(transactionalId: string, failure: RollcallError | null): RollcallError {
  const why = failure?.message ?? 'the process does not own the tenant';
  const what = `Nothing of this transaction of ${transactionalId} was sent to Kafka: ${why}`;
  return new RollcallError('KAFKA_NOT_SENT', what, {
    remedy: failure?.remedy ?? 'There is nothing to do: Rollcall opens a new session.',
    cause: failure ?? undefined,
  });
}

/** Positions of end markers. */
export type EndMarkers = readonly (TopicPartition & { readonly offset: number })[];

/**
 * Appends a record to each partition in a transaction and aborts it. No consumer receives it, but the partition then
 * ends in a control batch, so a reader can reach its end by position even after compaction; and Kafka closes a segment
 * that is old enough (ADR 2). `partitions`: by topic name. Returns the positions of those records.
 */
export async function appendEndMarkers(
  producer: TransactionalProducer,
  partitions: TopicPartitions,
): Promise<EndMarkers> {
  const batches = [...partitions].flatMap(([topic, some]) =>
    some.map((partition) => ({ topic, partition, batch: endMarker() })),
  );
  if (batches.length === 0) return [];
  await producer.begin(partitions);
  const appended = await producer.send(batches);
  await producer.abort();
  return appended.map(({ topic, partition, baseOffset: offset }) => ({ topic, partition, offset }));
}

function endMarker(): RecordBatch {
  const batch = new RecordBatch();
  batch.append({ key: END_MARKER_KEY, body: null, schemaId: null, headers: {} });
  return batch;
}
