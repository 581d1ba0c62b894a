import type { CompactionSettings, EndsToMark } from '../core/segment-rolls.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { Offsets, Progress } from '../model/progress.ts';

/** A record to publish. `body` is the Avro body without frame; null removes the key. */
export interface OutgoingRecord {
  readonly topic: TopicSuffix;
  readonly key: string;
  readonly body: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** What becomes visible together. */
export interface Transaction {
  readonly records: readonly OutgoingRecord[];
  /** Progress as of this transaction; the log adds the transaction's own data offsets before it is written. */
  readonly progress: Progress;
  /** Progress of the collections derived from it; each gets the offsets of its own topic. */
  readonly derived?: readonly Progress[] | undefined;
  /** Topics whose loss these progress records tell: from now on they count as they are. */
  readonly lostTopics?: readonly TopicSuffix[] | undefined;
}

export interface Committed {
  /** As written: with the transaction's own data offsets. */
  readonly progress: Progress;
  readonly derived: readonly Progress[];
  readonly committedAtMs: number;
}

/** What the log knew when a tenant was taken over. */
export interface Ownership {
  readonly owner: string;
  /** The newest committed progress of each collection. */
  readonly progress: ReadonlyMap<CollectionName, Progress>;
  /** Collections without progress because their newest record of it cannot be decoded. */
  readonly unreadable?: ReadonlySet<CollectionName> | undefined;
  /** Of these, those whose first load is over, by the record's header or by the record before. */
  readonly loadedBefore?: ReadonlySet<CollectionName> | undefined;
  /**
   * Each collection's transaction ids still to be found in `progress` since its topics last lost records: what proves that
   * an index is a point of this log.
   */
  readonly transactionIds: ReadonlyMap<CollectionName, ReadonlySet<string>>;
  /** When each collection's progress was last written, by the timestamps of its records, ms since the epoch. */
  readonly recordedAtMs: ReadonlyMap<CollectionName, number>;
}

export interface LoggedRecord {
  readonly topic: TopicSuffix;
  readonly partition: number;
  readonly offset: number;
  /** Time of publishing, ms since the epoch. */
  readonly publishedAtMs: number;
  readonly key: string;
  /** Framed Avro as in the topic; null for a removal. */
  readonly value: Buffer | null;
  /** The `content-hash` header, 16 bytes; null when there is none. */
  readonly hash: Buffer | null;
  /** The `ce_firstsequence` header; null when there is none. */
  readonly firstSequence: number | null;
  /** The `ce_mapping` header; null when there is none. */
  readonly mapping: string | null;
}

export interface TopicRange {
  readonly topic: TopicSuffix;
  /** First offset still there and next to be written, by partition. */
  readonly partitions: readonly { readonly low: number; readonly high: number }[];
}

/**
 * One tenant's topics, owned by this process: Kafka is the truth (design, "Kafka is the truth").
 *
 * After any error from `commit` nothing is known of its outcome and the log must not be used again:
 * `KAFKA_OUTCOME_UNKNOWN` asks for a new `own()`. `OWNERSHIP_LOST` means a newer process is there: give up.
 */
export interface TenantLog {
  /** Fences any older owner, settles what it left open, and reads where the log stands. */
  own(signal: AbortSignal): Promise<Ownership>;
  /** All or nothing, one after another. */
  commit(transaction: Transaction): Promise<Committed>;
  /**
   * Removes keys, in one transaction that tells nothing in `progress`: of what is no longer mirrored. On the terms of
   * {@link commit}.
   */
  remove(records: readonly OutgoingRecord[]): Promise<void>;
  /** Where {@link remove} last wrote to each partition, since this log was made: no progress tells it. */
  removedAt(): Offsets;
  /** Where the topics begin and end. Throws `KAFKA_TOPIC_MISSING`. */
  ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]>;
  /**
   * The first offset of each partition whose record is stamped at or after an instant, committed or not; where there is
   * none, the end. Throws `KAFKA_TOPIC_MISSING`.
   */
  offsetsSince(topic: TopicSuffix, atMs: number): Promise<Offsets>;
  /**
   * Reads committed records from after the given offsets (absent partition: from the beginning) to the end as of
   * now, found by position, not by a certain record (compaction may have taken the last one).
   */
  read(options: {
    from: readonly { topic: TopicSuffix; after: Offsets }[];
    onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
    signal: AbortSignal;
  }): Promise<void>;
  /** The brokers' settings of topics that are there. Throws `KAFKA_…`. */
  compactionSettings(topics: readonly TopicSuffix[]): Promise<ReadonlyMap<TopicSuffix, CompactionSettings>>;
  /**
   * Appends to partitions what no reader sees, so that a segment that is old enough is closed and can be compacted. After
   * an error the log must not be used again, as after one of `commit`.
   */
  markEnds(partitions: EndsToMark): Promise<void>;
  /** Settles what is under way, then lets go. */
  close(): Promise<void>;
}
