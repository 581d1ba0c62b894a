import type { ProducerIdentity } from '../../../src/log/transaction-brokers.ts';

type State = 'empty' | 'ongoing' | 'committing' | 'aborting' | 'committed' | 'aborted';

/** A refusal of Kafka's protocol; null: done. */
type Answer = string | null;

/** Called with the partitions of a transaction once it is decided, before its markers are written. */
type OnDecided = (partitions: ReadonlySet<string>, state: 'committed' | 'aborted') => void;

/**
 * What the brokers keep of one transactional id (KIP-98): it outlives each of them, and any of them may be its coordinator.
 */
export class TransactionState {
  readonly #transactionalId: string;
  readonly #onDecided: OnDecided;
  #state: State = 'empty';
  #epoch = -1;
  #partitions = new Set<string>();
  #startedAtMs = 0;

  constructor(transactionalId: string, onDecided: OnDecided) {
    this.#transactionalId = transactionalId;
    this.#onDecided = onDecided;
  }

  get identity(): ProducerIdentity {
    return { transactionalId: this.#transactionalId, producerId: 1n, producerEpoch: this.#epoch };
  }

  /** Fences the present producer. The refusal says that its transaction must end first. */
  init(): Answer {
    if (this.#state === 'ongoing') {
      this.#epoch += 1;
      this.#decide('aborting');
    }
    if (this.#isDeciding) return 'CONCURRENT_TRANSACTIONS';
    this.#epoch += 1;
    this.#state = 'empty';
    return null;
  }

  add(producer: ProducerIdentity, partitions: Iterable<string>, nowMs: number): Answer {
    if (producer.producerEpoch !== this.#epoch) return 'INVALID_PRODUCER_EPOCH';
    if (this.#isDeciding) return 'CONCURRENT_TRANSACTIONS';
    if (this.#state !== 'ongoing') {
      this.#state = 'ongoing';
      this.#partitions = new Set();
      this.#startedAtMs = nowMs;
    }
    for (const each of partitions) this.#partitions.add(each);
    return null;
  }

  /** Whether a batch belongs to the open transaction; the leader of a partition asks (KIP-890). */
  verify(producerEpoch: number, partition: string): Answer {
    if (producerEpoch !== this.#epoch) return 'INVALID_PRODUCER_EPOCH';
    const isPart = this.#state === 'ongoing' && this.#partitions.has(partition);
    return isPart ? null : 'INVALID_TXN_STATE';
  }

  end(producer: ProducerIdentity, isCommit: boolean): Answer {
    if (producer.producerEpoch !== this.#epoch) return 'INVALID_PRODUCER_EPOCH';
    const [deciding, decided] = isCommit
      ? (['committing', 'committed'] as const)
      : (['aborting', 'aborted'] as const);
    if (this.#state === deciding) return 'CONCURRENT_TRANSACTIONS';
    if (this.#state === decided) return null;
    if (this.#state !== 'ongoing') return 'INVALID_TXN_STATE';
    this.#decide(deciding);
    return null;
  }

  /** Aborts a transaction that has been open for too long, and fences its producer. */
  expire(nowMs: number, timeoutMs: number): boolean {
    if (this.#state !== 'ongoing' || nowMs - this.#startedAtMs <= timeoutMs) return false;
    this.#epoch += 1;
    this.#decide('aborting');
    return true;
  }

  /** All markers are written. */
  markersWritten(): void {
    if (this.#state === 'committing') this.#state = 'committed';
    if (this.#state === 'aborting') this.#state = 'aborted';
  }

  get #isDeciding(): boolean {
    return this.#state === 'committing' || this.#state === 'aborting';
  }

  #decide(state: 'committing' | 'aborting'): void {
    this.#state = state;
    const partitions = this.#partitions;
    this.#onDecided(partitions, state === 'committing' ? 'committed' : 'aborted');
  }
}
