import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import {
  allOffsets,
  offsetsOf,
  offsetsWithout,
  outdatesIndex,
  withOffsets,
  type Offsets,
  type Progress,
} from '../../../src/model/progress.ts';
import { partitionName, topicName } from '../../../src/model/topic-names.ts';
import type { OutgoingRecord, Transaction } from '../../../src/log/log.ts';
import type { Surroundings } from './surroundings.ts';

export const SCOPE = { topicPrefix: 'p', tenantId: 't' };

export interface StoredRecord extends OutgoingRecord {
  readonly committedAtMs: number;
  /** Position of its transaction among all. */
  readonly transaction: number;
}

export interface StoredTransaction {
  readonly progress: Progress;
  readonly derived: readonly Progress[];
  /** Number of the process that committed it, and of the one that owned the tenant then. */
  readonly by: number;
  readonly owner: number;
  readonly committedAtMs: number;
}

/**
 * The topics of a tenant, of one partition each, which outlive every process. When the answer to a commit was lost, the
 * commit may be decided only when the next process, or the same one again, fences the sender.
 */
export class SimulatedTopics {
  readonly transactions: StoredTransaction[] = [];
  /** The epoch of the producer that may write; a later producer fences the earlier. */
  epoch = 0;
  /** Every take-over in order, by the number of the process. */
  readonly owners: number[] = [];
  readonly #at: Surroundings;
  readonly #records = new Map<TopicSuffix, StoredRecord[]>();
  #undecided: { readonly by: number; readonly transaction: Transaction } | null = null;

  constructor(at: Surroundings) {
    this.#at = at;
  }

  get owner(): number {
    return this.owners.at(-1) ?? 0;
  }

  recordsOf(topic: TopicSuffix): readonly StoredRecord[] {
    return this.#records.get(topic) ?? [];
  }

  /** By key: the records of a consumer that has read everything. */
  viewOf(topic: TopicSuffix): ReadonlyMap<string, StoredRecord> {
    const view = new Map<string, StoredRecord>();
    for (const record of this.recordsOf(topic)) {
      if (record.body === null) view.delete(record.key);
      else view.set(record.key, record);
    }
    return view;
  }

  transactionIds(): Map<CollectionName, Set<string>> {
    const all = this.transactions.flatMap(({ progress, derived }) => [progress, ...derived]);
    const byCollection = Map.groupBy(all, ({ collection }) => collection);
    return new Map(
      [...byCollection].map(([name, some]) => {
        const first = some.findLastIndex((each, at) => outdatesIndex(some[at - 1] ?? each, each));
        return [name, new Set(some.slice(Math.max(0, first)).map(({ transactionId }) => transactionId))];
      }),
    );
  }

  newestProgress(): Map<CollectionName, Progress> {
    return new Map(
      this.transactions.flatMap(({ progress, derived }) =>
        [progress, ...derived].map((each) => [each.collection, each] as const),
      ),
    );
  }

  /** A process that owned the tenant and no longer does. */
  isSuperseded(process: number): boolean {
    return this.owners.includes(process) && this.owner !== process;
  }

  append(by: number, transaction: Transaction): { progress: Progress; derived: readonly Progress[] } {
    const { derived: follows = [] } = transaction;
    const offsets: Record<string, number> = { ...allOffsets([transaction.progress, ...follows]) };
    const committedAtMs = this.#at.time.now();
    const number = this.transactions.length;
    for (const record of transaction.records) {
      const records = this.#records.get(record.topic) ?? [];
      this.#records.set(record.topic, records);
      offsets[partitionOf(record.topic)] =
        records.push({ ...record, committedAtMs, transaction: number }) - 1;
    }
    const followers = follows.map(({ collection }) => collection);
    const progress = withOffsets(transaction.progress, offsetsWithout(offsets, followers));
    const derived = follows.map((each) => withOffsets(each, offsetsOf(offsets, each.collection)));
    this.transactions.push({ progress, derived, by, owner: this.owner, committedAtMs });
    return { progress, derived };
  }

  /** Sends a commit whose outcome is decided only at the next {@link fence}. */
  leaveUndecided(by: number, transaction: Transaction): void {
    this.#undecided = { by, transaction };
  }

  fence(): number {
    this.#decide();
    this.epoch += 1;
    return this.epoch;
  }

  /** An administrator deletes a topic, and creates it again. */
  lose(topic: TopicSuffix): void {
    this.#decide();
    this.#records.delete(topic);
  }

  /** Whether a record would stand at or before the last offset that `progress` names. */
  hasLost({ records, progress }: Transaction): boolean {
    return records.some(
      ({ topic }) => this.recordsOf(topic).length <= (progress.offsets[partitionOf(topic)] ?? -1),
    );
  }

  #decide(): void {
    const undecided = this.#undecided;
    this.#undecided = null;
    if (undecided !== null && this.#at.random.chance(0.5)) this.append(undecided.by, undecided.transaction);
  }

  noteOwner(process: number): void {
    this.owners.push(process);
  }
}

export function partitionOf(topic: TopicSuffix): string {
  return partitionName(topicName(SCOPE, topic), 0);
}

/** First offset for a reader that has read up to `after`. */
export function nextOffset(topic: TopicSuffix, after: Offsets): number {
  return (after[partitionOf(topic)] ?? -1) + 1;
}
