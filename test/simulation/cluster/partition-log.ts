import { Partition, type Entry } from '../tenants/partition.ts';
import type { SealedContent } from './simulated-batch.ts';

/** How many of its last batches a leader recognises when they are repeated (KIP-98). */
const BATCHES_REMEMBERED = 5;

interface AppendedBatch {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly entries: readonly Entry[];
  readonly baseOffset: number;
  /** Whether the replicas in sync have it, so that it outlives an election. */
  isReplicated: boolean;
}

export type Appending =
  | { readonly error: string }
  | { readonly error: null; readonly baseOffset: number; readonly isRepetition: boolean };

/** One partition as its replicas keep it. */
export class PartitionLog {
  readonly partition = new Partition();
  /** Node id. */
  leader: number;
  #batches: AppendedBatch[] = [];

  constructor(leader: number) {
    this.leader = leader;
  }

  /** Appends a batch by the leader's rules for sequence numbers; only {@link replicate} makes it last. */
  append({ owner, records }: SealedContent, nowMs: number): Appending {
    const { producerId, producerEpoch, firstSequence } = owner;
    const own = this.#batches.filter((each) => each.producerId === producerId);
    const last = own.at(-1);
    if (last !== undefined && last.producerEpoch > producerEpoch) return { error: 'INVALID_PRODUCER_EPOCH' };
    const known = own
      .slice(-BATCHES_REMEMBERED)
      .find(
        (each) =>
          each.producerEpoch === producerEpoch &&
          each.firstSequence === firstSequence &&
          each.entries.length === records.length,
      );
    if (known !== undefined) return { error: null, baseOffset: known.baseOffset, isRepetition: true };
    if (last !== undefined && firstSequence !== nextSequence(last, producerEpoch))
      return { error: 'OUT_OF_ORDER_SEQUENCE_NUMBER' };
    const baseOffset = this.partition.next;
    const entries = records.map((record) => this.partition.append(record, nowMs));
    this.#batches.push({
      producerId,
      producerEpoch,
      firstSequence,
      entries,
      baseOffset,
      isReplicated: false,
    });
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
    if (isComplete) this.replicate();
    const first = this.#batches.find(({ isReplicated }) => !isReplicated);
    if (first === undefined) return;
    this.#batches = this.#batches.filter(({ isReplicated }) => isReplicated);
    this.partition.truncate(first.baseOffset);
  }

  /** Ends a producer's transaction. Returns what it had written here. */
  mark(producerId: bigint, state: 'committed' | 'aborted'): readonly Entry[] {
    const entries = this.#batches
      .filter((each) => each.producerId === producerId)
      .flatMap((each) => each.entries.filter((entry) => entry.state === 'open'));
    for (const entry of entries) entry.state = state;
    this.replicate();
    this.partition.mark();
    return entries;
  }
}

function nextSequence(last: AppendedBatch, producerEpoch: number): number {
  return last.producerEpoch === producerEpoch ? last.firstSequence + last.entries.length : 0;
}
