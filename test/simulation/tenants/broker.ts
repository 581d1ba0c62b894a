import { hash } from 'node:crypto';
import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import { outdatesIndex, type Progress } from '../../../src/model/progress.ts';
import type { OutgoingRecord, Transaction } from '../../../src/log/log.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { Partition, type Entry } from './partition.ts';

export const PARTITIONS = 3;
/** A transaction that hangs for longer is aborted, and its producer is fenced. */
const TRANSACTION_TIMEOUT_MS = 150;

/** A committed record, which readers may see. */
export interface CommittedRecord extends OutgoingRecord {
  readonly partition: number;
  readonly offset: number;
  readonly committedAtMs: number;
  /** Position of its transaction among all. */
  readonly transaction: number;
}

export interface CommittedTransaction {
  readonly progress: Progress;
  readonly derived: readonly Progress[];
  /** Number of the process that committed it, and of the one that owned the tenant then. */
  readonly by: number;
  readonly owner: number;
  readonly records: number;
  readonly committedAtMs: number;
}

/** A producer as the broker knows it. Sequence numbers distinguish a repeated batch from a new one (KIP-98). */
export interface ProducerState {
  readonly sequences: Map<string, { base: number; count: number; offset: number }>;
}

interface OpenTransaction {
  readonly by: number;
  readonly beganAtMs: number;
  readonly entries: {
    readonly topic: TopicSuffix;
    readonly partition: number;
    readonly target: Partition;
    readonly entry: Entry;
  }[];
  readonly transaction: Transaction | null;
  /** The commit was requested; the next request decides it. */
  isCommitting: boolean;
}

export type Written = readonly {
  readonly topic: TopicSuffix;
  readonly partition: number;
  readonly base: number;
  readonly count: number;
}[];

/** The topics of one tenant at the brokers, and the one transactional producer that may write them. */
export class Broker {
  readonly transactions: CommittedTransaction[] = [];
  /** Every take-over in order, by the number of the process. */
  readonly owners: number[] = [];
  /** Everything ever committed, in order; neither compaction nor the deletion of a topic changes it. */
  readonly history = new Map<TopicSuffix, CommittedRecord[]>();
  readonly #at: Surroundings;
  readonly #topics = new Map<TopicSuffix, Partition[]>();
  readonly #happened: (what: string) => void;
  #producer: ProducerState = { sequences: new Map() };
  #open: OpenTransaction | null = null;

  constructor(at: Surroundings, happened: (what: string) => void) {
    this.#at = at;
    this.#happened = happened;
  }

  get owner(): number {
    return this.owners.at(-1) ?? 0;
  }

  get topics(): readonly TopicSuffix[] {
    return [...this.#topics.keys()];
  }

  /** A process that owned the tenant and no longer does. */
  isSuperseded(process: number): boolean {
    return this.owners.includes(process) && this.owner !== process;
  }

  /** Creates missing topics. */
  create(topics: readonly TopicSuffix[]): void {
    for (const topic of topics) {
      if (this.#topics.has(topic)) continue;
      const partitions = Array.from({ length: PARTITIONS }, () => new Partition());
      this.#topics.set(topic, partitions);
    }
  }

  recordsOf(topic: TopicSuffix): readonly CommittedRecord[] {
    return this.history.get(topic) ?? [];
  }

  /** Null: the topic does not exist. */
  partitionsOf(topic: TopicSuffix): readonly Partition[] | null {
    this.#expire();
    return this.#topics.get(topic) ?? null;
  }

  delete(topic: TopicSuffix): void {
    this.#topics.delete(topic);
  }

  /** By key: the records of a consumer that reads everything. */
  viewOf(topic: TopicSuffix): ReadonlyMap<string, OutgoingRecord> {
    const view = new Map<string, OutgoingRecord>();
    for (const partition of this.#topics.get(topic) ?? []) {
      for (const { state, record } of partition.entries) {
        if (state !== 'committed') continue;
        if (record.body === null) view.delete(record.key);
        else view.set(record.key, record);
      }
    }
    return view;
  }

  /** Ends the open transaction of an older producer, and fences that producer. */
  initProducer(): ProducerState {
    this.#settle();
    this.#writeMarkers();
    this.#producer = { sequences: new Map() };
    return this.#producer;
  }

  isCurrent(producer: ProducerState | null): boolean {
    this.#expire();
    return producer === this.#producer;
  }

  /**
   * Appends to the open transaction of that producer, or to a new one. The producer gives `base` numbers: a batch with the
   * numbers of the last one of its partition counts as a repetition and is not written. Null: fenced.
   */
  send(
    by: number,
    producer: ProducerState,
    sent: {
      records: readonly OutgoingRecord[];
      transaction: Transaction | null;
      sequences: ReadonlyMap<string, number>;
    },
  ): Written | null {
    if (!this.isCurrent(producer)) return null;
    const nowMs = this.#at.time.now();
    const { transaction } = sent;
    const open = this.#open ?? { by, beganAtMs: nowMs, entries: [], transaction, isCommitting: false };
    this.#open = open;
    this.#writeMarkers();
    const nameOf = ({ topic, key }: OutgoingRecord) => `${topic}/${partitionIndexOf(key)}`;
    return [...Map.groupBy(sent.records, nameOf)].map(([name, records]) => {
      const [first] = records as [OutgoingRecord];
      const { topic } = first;
      const partition = partitionIndexOf(first.key);
      const last = producer.sequences.get(name);
      const base = sent.sequences.get(name) ?? 0;
      if (last !== undefined && last.base === base && last.count === records.length) {
        this.#happened('kafka: a batch counted as a repetition');
        return { topic, partition, base: last.offset, count: records.length };
      }
      const target = this.#topics.get(topic)?.[partition];
      const offset = target?.next ?? 0;
      for (const record of records) {
        const entry = target?.append(record, nowMs);
        if (target !== undefined && entry !== undefined)
          open.entries.push({ topic, partition, target, entry });
      }
      producer.sequences.set(name, { base, count: records.length, offset });
      return { topic, partition, base: offset, count: records.length };
    });
  }

  /** False: fenced, or aborted after the time-out. */
  commit(producer: ProducerState, transaction: Transaction): boolean {
    if (!this.isCurrent(producer)) return false;
    const open = this.#open ?? { by: this.owner, beganAtMs: 0, entries: [], transaction, isCommitting: true };
    this.#open = null;
    this.#commit({ ...open, transaction });
    return true;
  }

  /** Requests a commit whose outcome is decided only when the producer is initialised again. */
  leaveUndecided(producer: ProducerState, transaction: Transaction): void {
    if (!this.isCurrent(producer) || this.#open === null) return;
    this.#open = { ...this.#open, transaction, isCommitting: true };
  }

  abort(producer: ProducerState): boolean {
    if (!this.isCurrent(producer)) return false;
    this.#abort();
    return true;
  }

  #expire(): void {
    if (this.#open === null || this.#open.isCommitting) return;
    if (this.#at.time.now() - this.#open.beganAtMs <= TRANSACTION_TIMEOUT_MS) return;
    this.#happened('kafka: a transaction timed out');
    this.#abort();
    this.#producer = { sequences: new Map() };
  }

  #settle(): void {
    const open = this.#open;
    if (open === null) return;
    if (open.isCommitting && this.#at.random.chance(0.5)) {
      this.#happened('kafka: committed late');
      this.#open = null;
      this.#commit(open);
    } else this.#abort();
  }

  #commit(open: OpenTransaction): void {
    const committedAtMs = this.#at.time.now();
    const number = this.transactions.length;
    // The answer may come before the markers are written.
    const stableAtMs = this.#at.random.chance(0.1)
      ? committedAtMs + this.#at.random.below(30)
      : committedAtMs;
    for (const { topic, partition, target, entry } of open.entries) {
      entry.state = 'committed';
      entry.stableAtMs = stableAtMs;
      // The record was deleted or cut off before any read: it was never published.
      if (this.#topics.get(topic)?.[partition] !== target || entry.offset < target.low) continue;
      const records = this.history.get(topic) ?? [];
      this.history.set(topic, records);
      const { record, offset } = entry;
      records.push({ ...record, partition, offset, committedAtMs, transaction: number });
    }
    this.#mark(open);
    const { progress, derived = [] } = open.transaction ?? { progress: null };
    if (progress === null) return;
    const { by } = open;
    const records = open.entries.length;
    this.transactions.push({ progress, derived, by, owner: this.owner, records, committedAtMs });
  }

  #abort(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    for (const { entry } of open.entries) entry.state = 'aborted';
    this.#mark(open);
  }

  /** Writes late markers: no new transaction begins without them. */
  #writeMarkers(): void {
    for (const partitions of this.#topics.values()) for (const each of partitions) each.stabilise();
  }

  /** A control batch ends a transaction in every partition that it touched, and takes an offset. */
  #mark({ entries }: OpenTransaction): void {
    for (const partition of new Set(entries.map(({ target }) => target))) partition.mark();
  }
}

export function partitionIndexOf(key: string): number {
  return hash('sha256', key, 'buffer').readUInt8() % PARTITIONS;
}

export function newestProgress(transactions: readonly CommittedTransaction[]): Map<CollectionName, Progress> {
  return new Map(
    transactions.flatMap(({ progress, derived }) =>
      [progress, ...derived].map((each) => [each.collection, each] as const),
    ),
  );
}

/** By collection: the transactions since its topics last lost records. */
export function idsSinceLoss(
  transactions: readonly CommittedTransaction[],
): Map<CollectionName, Set<string>> {
  const ids = new Map<CollectionName, Set<string>>();
  const last = new Map<CollectionName, Progress>();
  for (const progress of transactions.flatMap((each) => [each.progress, ...each.derived])) {
    const { collection, transactionId } = progress;
    const before = last.get(collection);
    const known = before === undefined || outdatesIndex(before, progress) ? undefined : ids.get(collection);
    ids.set(collection, (known ?? new Set<string>()).add(transactionId));
    last.set(collection, progress);
  }
  return ids;
}
