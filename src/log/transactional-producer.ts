import { partitionName } from '../model/topic-names.ts';
import { pauseMs, type Backoff } from '../backoff.ts';
import type { RecordBatch } from './wire/record-batch.ts';
import {
  RequestFailure,
  type ProducerIdentity,
  type SealedBatch,
  type TopicPartition,
  type TopicPartitions,
  type TransactionBrokers,
} from './transaction-brokers.ts';

/** Records that are sent to one partition in one batch. */
export interface PartitionBatch extends TopicPartition {
  readonly batch: Pick<RecordBatch, 'length' | 'seal'>;
}

/** A batch that its leader and all replicas in sync have appended. */
export interface AppendedBatch extends TopicPartition {
  /** Offset of its first record. */
  readonly baseOffset: number;
  readonly lastOffset: number;
}

export interface TransactionalProducerOptions {
  readonly brokers: TransactionBrokers;
  readonly transactionalId: string;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** The brokers abort a transaction that takes longer, and fence its producer. */
const TRANSACTION_TIMEOUT_MS = 60_000;
/**
 * How long a transaction is retried. A broker that dies is noticed after 9 s (`broker.session.timeout.ms`), and its
 * partitions then have other leaders.
 */
const RETRIED_FOR_MS = 25_000;
/**
 * How long a leader may wait for its replicas, while other tenants wait for the connection. Then the batch is sent
 * again, and a leader that has already appended it recognises it.
 */
const REPLICAS_WITHIN_MS = 2_000;
/**
 * The first pause is short because of CONCURRENT_TRANSACTIONS. Kafka gives this answer to every transaction that
 * begins while the markers of the last one are being written. With 300 ms, the throughput falls to a quarter.
 */
const RETRY: Backoff = { firstMs: 5, longestMs: 500 };

/** Refusals that pass: a broker cannot do something now, but this broker or another one soon can. */
const PASSING = new Set([
  'CONCURRENT_TRANSACTIONS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'KAFKA_STORAGE_ERROR',
  'LEADER_NOT_AVAILABLE',
  'NETWORK_EXCEPTION',
  'NOT_COORDINATOR_FOR_GROUP',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'NOT_LEADER_FOR_PARTITION',
  'REPLICA_NOT_AVAILABLE',
  'REQUEST_TIMED_OUT',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

/** The sequence numbers of a partition have 31 bits (KIP-98). */
const SEQUENCES = 2 ** 31;

/** Whether a request may be sent again although nobody knows what became of it. */
type Repetition = 'repeatable' | 'once';

/**
 * A transactional producer (KIP-98). Each batch is appended once, whatever the number of brokers (ADR 27):
 * - The partitions of a transaction are added to it before anything is sent. Adding them again has no effect, so this
 *   may be repeated.
 * - A batch gets its sequence number once, when it is sealed. It is sent again only after its leader has refused it. It
 *   then has the same bytes, so that a leader that has already appended it recognises it.
 * - The answers of all brokers are awaited before anything is repeated, and they are kept by partition: whatever
 *   elections come in between, no batch is left out, and none is sent again after its leader has confirmed it.
 * - A batch or a commit without an answer is not repeated, since the broker may still act on the first one later.
 *
 * After a method has failed, the producer must be discarded: the next producer makes Kafka abort the open transaction.
 * A method must end before the next one is called.
 */
export class TransactionalProducer {
  readonly #options: TransactionalProducerOptions;
  #identity: ProducerIdentity | null = null;
  #coordinator: number | null = null;
  /** Node ids by `<topic>/<partition>`. */
  #leaders: ReadonlyMap<string, number> = new Map();
  /** The next sequence number by `<topic>/<partition>`. */
  readonly #sequences = new Map<string, number>();
  #retriedUntilMs = 0;

  constructor(options: TransactionalProducerOptions) {
    this.#options = options;
  }

  /** Fences older producers with this transactional id, and resolves their open transaction. */
  async open(): Promise<void> {
    const { brokers, transactionalId, now } = this.#options;
    this.#retriedUntilMs = now() + RETRIED_FOR_MS;
    this.#identity = await this.#retry('repeatable', async () =>
      brokers.initProducerId(await this.#findCoordinator(), transactionalId, TRANSACTION_TIMEOUT_MS),
    );
  }

  /** Begins a transaction of these partitions; there must be one. */
  async begin(partitions: TopicPartitions): Promise<void> {
    const { brokers, now } = this.#options;
    const producer = this.#requireIdentity();
    this.#retriedUntilMs = now() + RETRIED_FOR_MS;
    await this.#retry('repeatable', async () =>
      brokers.addPartitions(await this.#findCoordinator(), producer, partitions),
    );
  }

  /** Has batches appended: at most one for each partition, and only of partitions of the transaction. */
  async send(batches: readonly PartitionBatch[]): Promise<readonly AppendedBatch[]> {
    const appended: AppendedBatch[] = [];
    let left = batches.map((each) => this.#seal(each));
    await this.#retry('once', async () => {
      const outcomes = await this.#produce(left);
      const failures: unknown[] = [];
      left = left.filter((each) => {
        const { topic, partition, records } = each;
        const { baseOffset, failure } = outcomes.get(nameOf(each)) ?? NO_ANSWER;
        const lastOffset = baseOffset + records - 1;
        if (failure === null) appended.push({ topic, partition, baseOffset, lastOffset });
        else failures.push(failure);
        return failure !== null;
      });
      // If one of these requests must not be sent again, none is.
      if (failures.length > 0) throw failures.find((each) => !mayRepeat('once', each)) ?? failures[0];
    });
    return appended;
  }

  /** Commits the transaction. Only if Kafka refuses the commit is it certain that nothing is committed. */
  commit(): Promise<void> {
    return this.#end(true);
  }

  abort(): Promise<void> {
    return this.#end(false);
  }

  /**
   * Nothing is sent afterwards. An open transaction stays open until the next producer opens, or until the time-out
   * of the brokers.
   */
  close(): void {
    this.#identity = null;
    this.#retriedUntilMs = -Infinity;
  }

  #end(isCommit: boolean): Promise<void> {
    const producer = this.#requireIdentity();
    return this.#retry('once', async () =>
      this.#options.brokers.endTransaction(await this.#findCoordinator(), producer, isCommit),
    );
  }

  #seal({ topic, partition, batch }: PartitionBatch): SealedBatch & { readonly records: number } {
    const { producerId, producerEpoch } = this.#requireIdentity();
    const name = partitionName(topic, partition);
    const firstSequence = this.#sequences.get(name) ?? 0;
    this.#sequences.set(name, (firstSequence + batch.length) % SEQUENCES);
    const owner = { producerId, producerEpoch, firstSequence };
    return { topic, partition, records: batch.length, bytes: batch.seal(owner, Date.now()) };
  }

  /** Sends one request to each leader, and returns what became of each batch when all have been answered or have failed. */
  async #produce(batches: readonly SealedBatch[]): Promise<ReadonlyMap<string, BatchOutcome>> {
    const { brokers } = this.#options;
    const producer = this.#requireIdentity();
    const leaders = await this.#findLeaders(batches);
    const outcomes = new Map<string, BatchOutcome>();
    const requests = [...Map.groupBy(batches, (each) => leaders.get(nameOf(each)))].map(
      async ([node, some]) => {
        try {
          if (node === undefined) throw new RequestFailure('refused', { type: 'LEADER_NOT_AVAILABLE' });
          const answers = await brokers.produce(node, {
            producer,
            batches: some,
            timeoutMs: REPLICAS_WITHIN_MS,
          });
          for (const { topic, error: type, baseOffset, partition } of answers) {
            const failure = type === null ? null : new RequestFailure('refused', { type, topic });
            outcomes.set(partitionName(topic, partition), { baseOffset, failure });
          }
        } catch (failure) {
          for (const each of some) outcomes.set(nameOf(each), { baseOffset: -1, failure });
        }
      },
    );
    await Promise.all(requests);
    return outcomes;
  }

  async #findLeaders(batches: readonly SealedBatch[]): Promise<ReadonlyMap<string, number>> {
    if (batches.every((each) => this.#leaders.has(nameOf(each)))) return this.#leaders;
    const topics = [...new Set(batches.map(({ topic }) => topic))];
    const found = await this.#retry('repeatable', () => this.#options.brokers.leadersOf(topics));
    return (this.#leaders = new Map([...this.#leaders, ...found]));
  }

  async #findCoordinator(): Promise<number> {
    const { brokers, transactionalId } = this.#options;
    this.#coordinator ??= await this.#retry('repeatable', () => brokers.coordinatorOf(transactionalId));
    return this.#coordinator;
  }

  /** Tries until it succeeds, fails in a way that does not pass, or runs out of time. */
  async #retry<T>(repetition: Repetition, request: () => Promise<T>): Promise<T> {
    const { now, sleep } = this.#options;
    for (let failures = 1; ; failures += 1) {
      try {
        return await request();
      } catch (error) {
        if (!mayRepeat(repetition, error) || now() >= this.#retriedUntilMs) throw error;
        if (!isOfLastTransaction(error)) {
          this.#coordinator = null;
          this.#leaders = new Map();
        }
        await sleep(pauseMs(RETRY, failures));
      }
    }
  }

  #requireIdentity(): ProducerIdentity {
    if (this.#identity === null) throw new Error('the producer is not open');
    return this.#identity;
  }
}

/** `failure` null: the batch is appended. */
interface BatchOutcome {
  readonly baseOffset: number;
  readonly failure: unknown;
}

/** The outcome of a batch about which the answer of its leader says nothing. */
const NO_ANSWER: BatchOutcome = { baseOffset: -1, failure: new RequestFailure('unanswered') };

function mayRepeat(repetition: Repetition, error: unknown): boolean {
  if (!(error instanceof RequestFailure)) return false;
  if (error.outcome === 'refused') return PASSING.has(error.type ?? '');
  return error.outcome === 'unsent' || repetition === 'repeatable';
}

/** Whether the coordinator is the right one, but is still writing the markers of the previous transaction. */
function isOfLastTransaction(error: unknown): boolean {
  return error instanceof RequestFailure && error.type === 'CONCURRENT_TRANSACTIONS';
}

function nameOf({ topic, partition }: SealedBatch): string {
  return partitionName(topic, partition);
}
