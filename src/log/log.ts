import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { DecisionRecord, Offsets, Progress } from '../model/progress.ts';

/** A record to publish. `body` is the Avro body without a frame, in `absence-state` any bytes; null removes the key. */
export interface OutgoingRecord {
  readonly topic: TopicSuffix;
  readonly key: string;
  readonly body: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Further headers, in an object that many records share. */
  readonly sharedHeaders?: Readonly<Record<string, string>> | undefined;
}

/** Records that become visible together. */
export interface Transaction {
  readonly records: readonly OutgoingRecord[];
  /** Progress after this transaction; the log adds the offsets of the transaction's own data. */
  readonly progress: Progress;
  /** Progress of the derived collections; each gets the offsets of its own topic. */
  readonly derived?: readonly Progress[] | undefined;
  readonly decisions?: readonly DecisionRecord[] | undefined;
  /**
   * Topics whose loss of records this transaction notes in `progress`. After the commit, these topics count as complete
   * with the records that they still have.
   */
  readonly lostTopics?: readonly TopicSuffix[] | undefined;
}

export interface Committed {
  /** The progress as written, with the offsets of the transaction's own data. */
  readonly progress: Progress;
  readonly derived: readonly Progress[];
  readonly committedAtMs: number;
  /** How long the transaction took, without the wait for its turn, ms. */
  readonly tookMs: number;
}

/** The state of the log at the take-over of a tenant. */
export interface Ownership {
  /** The newest committed progress of each collection. */
  readonly progress: ReadonlyMap<CollectionName, Progress>;
  /**
   * Each collection's transaction ids in `progress` since its topics last lost records. They prove that an index
   * reflects a point of this log.
   */
  readonly transactionIds: ReadonlyMap<CollectionName, ReadonlySet<string>>;
}

export interface LoggedRecord {
  readonly topic: TopicSuffix;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  /** Framed Avro, in `absence-state` any bytes; null for a removal. */
  readonly value: Buffer | null;
  /** The `content-hash` header, 16 bytes; null without one. */
  readonly hash: Buffer | null;
  /** The `ce_mapping` header; null without one. */
  readonly mapping: string | null;
}

export interface TopicRange {
  readonly topic: TopicSuffix;
  /** First available offset and next offset to be written, by partition. */
  readonly partitions: readonly { readonly low: number; readonly high: number }[];
}

export interface LogReading {
  /** The topics to read. A partition that `after` does not name is read from its beginning. */
  readonly from: readonly { readonly topic: TopicSuffix; readonly after: Offsets }[];
  readonly onBatch: (records: readonly LoggedRecord[]) => Promise<void> | void;
  readonly signal: AbortSignal;
}

/** The age of a topic's segments, ms, above which an append closes them: the smaller of `segment.ms` and `max.compaction.lag.ms`. */
export type RollIntervals = ReadonlyMap<TopicSuffix, number>;

/**
 * One tenant's topics, owned by this process (design, "Kafka is the truth").
 *
 * After any error of `commit`, the caller must call `own()` before it uses the log again. `KAFKA_OUTCOME_UNKNOWN` means that
 * the transaction may be committed: `own()` shows whether it is. After any other error it is not. `KAFKA_NOT_SENT` means
 * that nothing of it was sent, because an earlier transaction failed. `own()` throws `OWNERSHIP_LOST` if a newer process
 * owns the tenant.
 */
export interface TenantLog {
  /** Fences any older owner, resolves its open transaction, and reads the progress. */
  own(signal: AbortSignal): Promise<Ownership>;
  /** Commits all of a transaction or nothing; transactions run one after another. */
  commit(transaction: Transaction): Promise<Committed>;
  /** Returns the first and last offsets of the topics. Throws `KAFKA_TOPIC_MISSING`. */
  ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]>;
  /**
   * Reads committed records after the given offsets to the current end. It detects the end by position, since compaction
   * may have removed the last record.
   */
  read(reading: LogReading): Promise<void>;
  /** Returns the intervals that follow from the topics' settings. Throws `KAFKA_…`. */
  rollIntervals(topics: readonly TopicSuffix[]): Promise<RollIntervals>;
  /**
   * Appends end markers, so that Kafka closes a segment that is old enough and can compact it. Errors mean the same as
   * those of {@link commit}.
   */
  markEnds(partitions: ReadonlyMap<TopicSuffix, readonly number[]>): Promise<void>;
}
