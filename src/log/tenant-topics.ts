import { MAPPING_HEADER } from '../core/cloud-events.ts';
import type { TopicSuffix } from '../model/collections.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import type { FetchedRecord } from './wire/fetched-batch.ts';
import type { KafkaConnections } from './wire/kafka-connections.ts';
import { readStretches, type ReadOptions } from './kafka-reader.ts';
import type { LoggedRecord, LogReading, RollIntervals, TopicRange } from './log.ts';
import { describeSettings } from './topic-settings.ts';
import { LoggedTenant } from './progress-reader.ts';
import type { Registry } from './registry/registry.ts';
import type { EndMarkers } from './tenant-producer.ts';
import { fetchOffsets } from './topic-offsets.ts';

/**
 * Used if a broker does not report `segment.ms` or `max.compaction.lag.ms`. It is the longest `segment.ms` that the
 * contract allows.
 */
const DAY_MS = 24 * 3_600_000;

export interface TenantTopicsOptions {
  readonly kafka: KafkaConnections;
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly registry: Pick<Registry, 'decodeOrNull'>;
}

/** Reads a tenant's topics, and their partitions, offsets and settings. */
export class TenantTopics {
  /** A reader that does not own the tenant waits until transactions are decided, and treats a missing topic as empty. */
  protected readonly isOwner: boolean = true;
  /** `<prefix>.<tenant>`: the tenant's transactional id. */
  protected readonly id: string;
  readonly #options: TenantTopicsOptions;

  constructor(options: TenantTopicsOptions) {
    this.#options = options;
    this.id = `${options.topicPrefix}.${options.tenantId}`;
  }

  name(suffix: TopicSuffix): string {
    return topicName(this.#options, suffix);
  }

  /** Returns all partitions of topics, by topic name. */
  async allPartitions(suffixes: readonly TopicSuffix[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const led = await this.#options.kafka.partitionsOf(this.#names(suffixes));
    const byName = Map.groupBy(led, ({ topic }) => topic);
    return new Map([...byName].map(([name, some]) => [name, some.map(({ partition }) => partition)]));
  }

  async ranges(suffixes: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    const missing = this.isOwner ? undefined : 'skipped';
    const ranges = await fetchOffsets(this.#options.kafka, this.#names(suffixes), missing);
    return suffixes.map((topic) => ({ topic, partitions: ranges.get(this.name(topic)) ?? [] }));
  }

  #names(suffixes: readonly TopicSuffix[]): readonly string[] {
    return suffixes.map((suffix) => this.name(suffix));
  }

  async rollIntervals(suffixes: readonly TopicSuffix[]): Promise<RollIntervals> {
    const settings = await describeSettings(this.#options.kafka, this.#names(suffixes));
    const intervalOf = (topic: string): number => {
      const msOf = (name: string): number => Number(settings.get(topic)?.get(name) ?? DAY_MS);
      return Math.min(msOf('segment.ms'), msOf('max.compaction.lag.ms'));
    };
    return new Map(suffixes.map((suffix) => [suffix, intervalOf(this.name(suffix))]));
  }

  /** Returns the end of `progress` for a reader of committed records. */
  async progressEnd(): Promise<number> {
    const [progress] = await this.ranges(['progress']);
    return progress?.partitions[0]?.high ?? 0;
  }

  /** Reads `progress` from its beginning up to, but not including, the offset `to`. Throws `KAFKA_…` and `REGISTRY_…`. */
  async readProgress(to: number, signal: AbortSignal): Promise<LoggedTenant> {
    const found = new LoggedTenant(this.#options.registry);
    await this.#read({
      stretches: [{ topic: this.name('progress'), partition: 0, from: 0, to }],
      onMessages: async ({ messages }) => {
        for (const message of messages) await found.add(message);
      },
      signal,
    });
    return found;
  }

  /** Reads after the given offsets, up to and including those in `last`. */
  protected readUpTo(last: EndMarkers, { from, onBatch, signal }: LogReading): Promise<void> {
    const starts = new Map(from.map((each) => [this.name(each.topic), each]));
    const stretches = last.map(({ topic, partition, offset }) => ({
      topic,
      partition,
      from: (starts.get(topic)?.after[partitionName(topic, partition)] ?? -1) + 1,
      to: offset + 1,
    }));
    return this.#read({
      stretches,
      onMessages: async ({ topic, partition, messages }) => {
        const suffix = starts.get(topic)?.topic;
        if (suffix === undefined) return;
        await onBatch(messages.map((message) => toLoggedRecord(suffix, partition, message)));
      },
      signal,
    });
  }

  #read(reading: Pick<ReadOptions, 'stretches' | 'onMessages' | 'signal'>): Promise<void> {
    return readStretches({
      kafka: this.#options.kafka,
      awaitsDecision: !this.isOwner,
      ...reading,
    });
  }
}

/** Decodes the headers at once, because a getter for each would cost ten times as much as the rest of the object. */
function toLoggedRecord(topic: TopicSuffix, partition: number, message: FetchedRecord): LoggedRecord {
  const hash = message.header('content-hash');
  const mapping = message.header(MAPPING_HEADER);
  return {
    topic,
    partition,
    offset: Number(message.offset),
    key: message.key?.toString('utf8') ?? '',
    value: message.value,
    hash: hash === undefined ? null : Buffer.from(hash.toString('latin1'), 'hex'),
    mapping: mapping === undefined ? null : String(mapping),
  };
}
