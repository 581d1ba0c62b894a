import type { Kafka } from 'kafkajs';
import type { CompactionSettings, EndsToMark } from '../core/segment-rolls.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { appendEndMarkers, type EndMarkers } from './end-markers.ts';
import { outcomeUnknown } from './kafka-errors.ts';
import type {
  Committed,
  LoggedRecord,
  OutgoingRecord,
  Ownership,
  TenantLog,
  TopicRange,
  Transaction,
} from './log.ts';
import { readUpTo } from './log-reader.ts';
import type { WantedTopic } from './manage-topics.ts';
import { TransactionWriter } from './transaction-writer.ts';
import { TakeOver } from './take-over.ts';
import type { ProgressCodec } from './progress-codec.ts';
import { TenantProducer } from './tenant-producer.ts';
import type { TenantSchemas } from './tenant-schemas.ts';
import { TenantTopics } from './tenant-topics.ts';

export interface KafkaLogOptions {
  readonly kafka: Kafka;
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly wanted: readonly WantedTopic[];
  readonly schemas: TenantSchemas;
  readonly progressCodec: ProgressCodec;
  /** Identifies this process during its lifetime. */
  readonly owner: string;
  readonly now: () => number;
  readonly randomId: () => string;
  /** See {@link TenantProducer}. */
  readonly onWait: (ms: number) => void;
}

/** Creates the log of a tenant; one transactional producer (`transactional.id` = `<p>.<t>`) writes its topics. */
export function createKafkaLog(options: KafkaLogOptions): TenantLog {
  return new KafkaLog(options);
}

class KafkaLog implements TenantLog {
  readonly #kafka: Kafka;
  readonly #groupIdPrefix: string;
  readonly #topics: TenantTopics;
  readonly #producer: TenantProducer;
  readonly #takeOver: TakeOver;
  readonly #writer: TransactionWriter;
  readonly #schemas: TenantSchemas;

  constructor(options: KafkaLogOptions) {
    const { kafka, topicPrefix, tenantId } = options;
    this.#kafka = kafka;
    this.#groupIdPrefix = `${topicPrefix}.${tenantId}`;
    const topics = new TenantTopics(options);
    const producer = new TenantProducer(kafka, `${topicPrefix}.${tenantId}`, options.onWait);
    this.#topics = topics;
    this.#producer = producer;
    this.#takeOver = new TakeOver({
      ...options,
      groupIdPrefix: this.#groupIdPrefix,
      topics,
      producer,
    });
    this.#writer = new TransactionWriter({ ...options, topics, producer });
    this.#schemas = options.schemas;
  }

  async own(signal: AbortSignal): Promise<Ownership> {
    const { ownership, progressEnd } = await this.#takeOver.own(signal);
    this.#writer.continueAfter(progressEnd);
    const progress = new Map(ownership.progress);
    for (const [name, each] of progress) progress.set(name, await this.#schemas.noteLost(each));
    return { ...ownership, progress };
  }

  async commit(transaction: Transaction): Promise<Committed> {
    this.#schemas.requireHeld();
    return this.#writer.commit(transaction);
  }

  remove(records: readonly OutgoingRecord[]): Promise<void> {
    return this.#writer.remove(records);
  }

  removedAt(): Offsets {
    return this.#writer.removedAt();
  }

  async ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    const ranges = await this.#topics.ranges(topics);
    return ranges.map(({ topic, partitions }) => ({
      topic,
      partitions: this.#writer.hasLost(this.#topics.name(topic))
        ? partitions.map(({ low }) => ({ low, high: 0 }))
        : partitions,
    }));
  }

  offsetsSince(topic: TopicSuffix, atMs: number): Promise<Offsets> {
    return this.#topics.offsetsSince(topic, atMs);
  }

  compactionSettings(topics: readonly TopicSuffix[]): Promise<ReadonlyMap<TopicSuffix, CompactionSettings>> {
    return this.#topics.compactionSettings(topics);
  }

  async read(options: {
    from: readonly { topic: TopicSuffix; after: Offsets }[];
    onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
    signal: AbortSignal;
  }): Promise<void> {
    if (options.from.length === 0) return;
    const read = options.from.map(({ topic }) => topic);
    const markers = await this.#appendEndMarkers(() => this.#topics.allPartitions(read));
    await readUpTo({
      ...options,
      kafka: this.#kafka,
      groupIdPrefix: this.#groupIdPrefix,
      topicOf: (suffix) => this.#topics.name(suffix),
      last: markers,
    });
  }

  async markEnds(partitions: EndsToMark): Promise<void> {
    const byName = new Map([...partitions].map(([suffix, some]) => [this.#topics.name(suffix), some]));
    await this.#appendEndMarkers(() => Promise.resolve(byName));
  }

  #appendEndMarkers(partitions: () => Promise<ReadonlyMap<string, readonly number[]>>): Promise<EndMarkers> {
    return this.#producer.inTurn(
      async (producer) => appendEndMarkers(producer, await partitions()),
      (error) => outcomeUnknown(error, 'appending end markers'),
    );
  }

  async close(): Promise<void> {
    await this.#producer.discard();
    await this.#topics.disconnect();
  }
}
