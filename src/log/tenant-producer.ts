import { Partitioners, type Kafka, type Producer } from 'kafkajs';
import { RollcallError } from '../errors.ts';

const END_MARKER_KEY = '@seal';

type Task<T> = (producer: Producer) => Promise<T>;
type ToError = (error: unknown) => RollcallError;

/**
 * The one transactional producer of a tenant (KIP-98). A failed task discards it.
 *
 * A producer whose send or commit failed must not be used again: kafkajs rolls its sequence back. If the broker did
 * accept the batch, it would treat the next batch of that size as a duplicate, and that batch would be lost.
 */
export class TenantProducer {
  readonly #kafka: Kafka;
  readonly #transactionalId: string;
  #producer: Producer | null = null;
  #failure: RollcallError | null = null;
  #lastTurn: Promise<unknown> = Promise.resolve();

  readonly #onWait: (ms: number) => void;

  /** `onWait`: called when a request had to wait before it was sent, as the brokers ask for by a quota (KIP-219). */
  constructor(kafka: Kafka, transactionalId: string, onWait: (ms: number) => void = () => undefined) {
    this.#kafka = kafka;
    this.#transactionalId = transactionalId;
    this.#onWait = onWait;
  }

  /** Creates a producer. Connecting it fences older ones and resolves their open transaction. */
  create(): void {
    const producer = this.#kafka.producer({
      transactionalId: this.#transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      // Rollcall itself recreates a deleted topic, with the contract's settings instead of the brokers' defaults.
      allowAutoTopicCreation: false,
      transactionTimeout: 60_000,
      // Every message names its partition.
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    producer.on(producer.events.REQUEST, ({ payload }) => this.#onWait(payload.pendingDuration));
    this.#producer = producer;
  }

  /** Runs a task after all earlier ones, since a transaction must not begin within another one. */
  inTurn<T>(task: Task<T>, toError: ToError): Promise<T> {
    const turn = this.#lastTurn.then(() => this.run(task, toError));
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  /** Runs a task at once. `toError` explains its failure. */
  async run<T>(task: Task<T>, toError: ToError): Promise<T> {
    const producer = this.#producer;
    if (producer === null) throw this.#nothingSent();
    try {
      return await task(producer);
    } catch (error) {
      const failure = toError(error);
      this.#failure = failure;
      await this.discard();
      throw failure;
    }
  }

  /** The error of a task that waited for its turn while another one failed. */
  #nothingSent(): RollcallError {
    const why = this.#failure?.message ?? 'the process does not own the tenant';
    return new RollcallError('KAFKA_NOT_SENT', `Nothing was sent for ${this.#transactionalId}: ${why}`, {
      remedy: this.#failure?.remedy ?? 'Rollcall opens a new session by itself.',
      cause: this.#failure ?? undefined,
    });
  }

  async discard(): Promise<void> {
    const producer = this.#producer;
    this.#producer = null;
    await producer?.disconnect().catch(() => undefined);
  }
}

/** Positions of end markers. */
export type EndMarkers = readonly {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}[];

/**
 * Appends a record to each partition in a transaction and aborts it. No consumer receives it, but the partition then
 * ends in a control batch, so a reader can reach its end by position even after compaction; and Kafka closes a segment
 * that is old enough (ADR 2). `partitions`: by topic name. Returns the positions of those records.
 */
export async function appendEndMarkers(
  producer: Producer,
  partitions: ReadonlyMap<string, readonly number[]>,
): Promise<EndMarkers> {
  const topicMessages = [...partitions].map(([topic, some]) => ({
    topic,
    messages: some.map((partition) => ({ key: END_MARKER_KEY, value: null, partition })),
  }));
  const transaction = await producer.transaction();
  const written = await transaction.sendBatch({ acks: -1, topicMessages });
  await transaction.abort();
  return written.map(({ topicName: topic, partition, baseOffset }) => ({
    topic,
    partition,
    offset: Number(baseOffset),
  }));
}
