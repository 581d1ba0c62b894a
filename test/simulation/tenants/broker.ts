import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import { outdatesIndex, type Progress } from '../../../src/model/progress.ts';
import type { OutgoingRecord } from '../../../src/log/log.ts';
import { topicName } from '../../../src/model/topic-names.ts';
import { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import type { Entry, Partition } from './partition.ts';

export const SCOPE = { topicPrefix: 'p', tenantId: 't' };
export const PARTITIONS = 3;

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

/** A record of `progress`: that a process became the owner, or what its transaction recorded. */
export interface ProgressRecord extends OutgoingRecord {
  readonly topic: 'progress';
  /** The number of the process. */
  readonly by: number;
  /** Of the collection, then of those that are derived from it; null: `by` is the owner from now on. */
  readonly progress: readonly [Progress, ...Progress[]] | null;
}

/** The topics of one tenant on three brokers, and all that was ever committed to them. */
export class Broker {
  readonly cluster: SimulatedCluster;
  readonly transactions: CommittedTransaction[] = [];
  /** Every take-over in order, by the number of the process. */
  readonly owners: number[] = [];
  /** Everything ever committed, in order; neither compaction nor the deletion of a topic changes it. */
  readonly history = new Map<TopicSuffix, CommittedRecord[]>();
  readonly #at: Surroundings;
  /** By process: how many take-overs there were when it first tried to own the tenant. */
  readonly #ownersAtFirst = new Map<number, number>();
  readonly #topics = new Set<TopicSuffix>();

  constructor(at: Surroundings, happened: (what: string) => void) {
    this.#at = at;
    this.cluster = new SimulatedCluster({
      at,
      happened,
      onDecided: (entries, state) => {
        if (state === 'committed') this.#commit(entries);
      },
    });
    this.cluster.create(topicName(SCOPE, 'progress'), 1);
  }

  get owner(): number {
    return this.owners.at(-1) ?? 0;
  }

  /** Those that may be lost. */
  get topics(): readonly TopicSuffix[] {
    return [...this.#topics];
  }

  /** A process tries to own the tenant. `isFirst`: as if for the first time. */
  noteAttempt(process: number, isFirst: boolean): void {
    if (isFirst || !this.#ownersAtFirst.has(process)) this.#ownersAtFirst.set(process, this.owners.length);
  }

  /** Whether another process owns the tenant that did not when this one first tried. */
  isSuperseded(process: number): boolean {
    return this.owners.length > (this.#ownersAtFirst.get(process) ?? Infinity) && this.owner !== process;
  }

  /** Creates missing topics. */
  create(topics: readonly TopicSuffix[]): void {
    for (const topic of topics) {
      if (this.#topics.has(topic)) continue;
      this.#topics.add(topic);
      this.cluster.create(topicName(SCOPE, topic), PARTITIONS);
    }
  }

  recordsOf(topic: TopicSuffix): readonly CommittedRecord[] {
    return this.history.get(topic) ?? [];
  }

  /** Null: the topic does not exist. */
  partitionsOf(topic: TopicSuffix): readonly Partition[] | null {
    const logs = this.cluster.logsOf(topicName(SCOPE, topic));
    return logs.length === 0 ? null : logs.map(({ partition }) => partition);
  }

  delete(topic: TopicSuffix): void {
    this.#topics.delete(topic);
    this.cluster.delete(topicName(SCOPE, topic));
  }

  /** By key: the records of a consumer that reads everything. */
  viewOf(topic: TopicSuffix): ReadonlyMap<string, OutgoingRecord> {
    const view = new Map<string, OutgoingRecord>();
    for (const partition of this.partitionsOf(topic) ?? []) {
      for (const { state, record } of partition.entries) {
        if (state !== 'committed') continue;
        if (record.body === null) view.delete(record.key);
        else view.set(record.key, record);
      }
    }
    return view;
  }

  #commit(written: ReadonlyMap<string, readonly Entry[]>): void {
    const committedAtMs = this.#at.time.now();
    const transaction = this.transactions.length;
    const recorded: ProgressRecord[] = [];
    let count = 0;
    for (const [name, entries] of written) {
      const partition = Number(name.slice(name.lastIndexOf('/') + 1));
      for (const { record, offset } of entries) {
        if (isOfProgress(record)) {
          recorded.push(record);
          continue;
        }
        count += 1;
        const records = this.history.get(record.topic) ?? [];
        this.history.set(record.topic, records);
        records.push({ ...record, partition, offset, committedAtMs, transaction });
      }
    }
    for (const { by, progress } of recorded) {
      if (progress === null) {
        this.owners.push(by);
        continue;
      }
      const [own, ...derived] = progress;
      const { owner } = this;
      this.transactions.push({ progress: own, derived, by, owner, records: count, committedAtMs });
    }
  }
}

function isOfProgress(record: OutgoingRecord): record is ProgressRecord {
  return 'by' in record;
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
