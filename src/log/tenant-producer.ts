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

/** The one transactional producer of a tenant. A failed task discards it. */
export class TenantProducer {
  readonly #brokers: TransactionBrokers;
  readonly #transactionalId: string;
  readonly #transactions: Turns;
  #producer: TransactionalProducer | null = null;
  #failure: RollcallError | null = null;
  #lastTurn: Promise<unknown> = Promise.resolve();

  /** `transactions`: limits how many transactions of the process are open at once. */
  constructor(brokers: TransactionBrokers, transactionalId: string, transactions: Turns) {
    this.#brokers = brokers;
    this.#transactionalId = transactionalId;
    this.#transactions = transactions;
  }

  /** Creates a producer. Opening it fences older ones and resolves their open transaction. */
  create(): void {
    this.#producer = new TransactionalProducer({
      brokers: this.#brokers,
      transactionalId: this.#transactionalId,
      now: () => performance.now(),
      sleep: (ms) => delay(ms),
    });
  }

  /** Runs a task after all earlier ones, since a transaction must not begin within another one. */
  inTurn<T>(task: Task<T>, toError: ToError): Promise<T> {
    const turn = this.#lastTurn.then(() => this.run(task, toError));
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  /** Runs a task as soon as the process may begin one more transaction. */
  run<T>(task: Task<T>, toError: ToError): Promise<T> {
    const producer = this.#producer;
    return this.#transactions.run(async () => {
      // Another task may have failed meanwhile.
      if (producer === null || producer !== this.#producer) throw this.#nothingSent();
      try {
        return await task(producer);
      } catch (error) {
        const failure = toError(error);
        this.#failure = failure;
        this.discard();
        throw failure;
      }
    });
  }

  /** The error of a task that waited for its turn while another one failed. */
  #nothingSent(): RollcallError {
    const why = this.#failure?.message ?? 'the process does not own the tenant';
    return new RollcallError('KAFKA_NOT_SENT', `Nothing was sent for ${this.#transactionalId}: ${why}`, {
      remedy: this.#failure?.remedy ?? 'There is nothing to do: Rollcall opens a new session.',
      cause: this.#failure ?? undefined,
    });
  }

  discard(): void {
    this.#producer?.close();
    this.#producer = null;
  }
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
