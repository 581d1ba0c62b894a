import { Partition } from '../tenants/partition.ts';
import type { SealedContent } from './simulated-batch.ts';

/** How many of its last batches a leader recognises when they are repeated (KIP-98). */
const BATCHES_REMEMBERED = 5;

interface AppendedBatch {
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly length: number;
  readonly baseOffset: number;
  /** Whether the replicas in sync have it, so that it outlives an election. */
  isReplicated: boolean;
}

export type Appending =
  | { readonly error: string }
  | { readonly error: null; readonly baseOffset: number; readonly isRepetition: boolean };

/** One partition as its replicas keep it. Only one transactional id writes it. */
export class PartitionLog {
  readonly partition = new Partition();
  /** Node id. */
  leader: number;
  /** Rises with each election. */
  leaderEpoch = 0;
  /** The last ones, oldest first. */
  #batches: AppendedBatch[] = [];

  constructor(leader: number) {
    this.leader = leader;
  }

  /** Appends a batch by the leader's rules for sequence numbers; only {@link replicate} makes it last. */
  append({ owner, records }: SealedContent, nowMs: number): Appending {
    const { producerEpoch, firstSequence } = owner;
    const { length } = records;
    const last = this.#batches.at(-1);
    if (last !== undefined && last.producerEpoch > producerEpoch) return { error: 'INVALID_PRODUCER_EPOCH' };
    const known = this.#batches.find(
      (each) =>
        each.producerEpoch === producerEpoch &&
        each.firstSequence === firstSequence &&
        each.length === length,
    );
    if (known !== undefined) return { error: null, baseOffset: known.baseOffset, isRepetition: true };
    if (last !== undefined && firstSequence !== nextSequence(last, producerEpoch))
      return { error: 'OUT_OF_ORDER_SEQUENCE_NUMBER' };
    const baseOffset = this.partition.next;
    for (const record of records) this.partition.append(record, nowMs);
    this.#batches.push({ producerEpoch, firstSequence, length, baseOffset, isReplicated: false });
    this.#batches = this.#batches.slice(-BATCHES_REMEMBERED);
    return { error: null, baseOffset, isRepetition: false };
  }

  /** Lets the replicas catch up. */
  replicate(): void {
    for (const batch of this.#batches) batch.isReplicated = true;
  }

  /** The new leader may lack what was not replicated yet. */
  elect(leader: number, isComplete: boolean): void {
    if (leader === this.leader) return;
    this.leader = leader;
    this.leaderEpoch += 1;
    if (isComplete) this.replicate();
    const first = this.#batches.find(({ isReplicated }) => !isReplicated);
    if (first === undefined) return;
    this.#batches = this.#batches.filter(({ isReplicated }) => isReplicated);
    this.partition.truncate(first.baseOffset);
  }
}

function nextSequence(last: AppendedBatch, producerEpoch: number): number {
  return last.producerEpoch === producerEpoch ? last.firstSequence + last.length : 0;
}
