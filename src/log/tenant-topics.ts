import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, Kafka, KafkaMessage } from 'kafkajs';
import { MAPPING_HEADER } from '../core/cloud-events.ts';
import type { RollIntervals } from '../core/segment-rolls.ts';
import { RollcallError } from '../errors.ts';
import type { TopicSuffix } from '../model/collections.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import { headerOf } from './fetched-batch.ts';
import { kafkaError } from './kafka-errors.ts';
import { readStretches, type ReadOptions } from './kafka-reader.ts';
import type { LoggedRecord, LogReading, TopicRange } from './log.ts';
import { describeSettings } from './topic-settings.ts';
import { LoggedTenant, type DecodeProgress } from './progress-reader.ts';
import type { EndMarkers } from './tenant-producer.ts';
import { fetchOffsets, listTopics } from './topic-offsets.ts';

/** Where a broker reports no setting: the contract allows no longer time. */
const DAY_MS = 24 * 3_600_000;

const LOOKS = 10;
const BETWEEN_LOOKS_MS = 200;

export interface TenantTopicsOptions {
  readonly kafka: Kafka;
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly decodeProgress: DecodeProgress;
}

/** Reads a tenant's topics, and their partitions, offsets and settings. */
export class TenantTopics {
  protected readonly admin: Admin;
  protected readonly how: Pick<ReadOptions, 'awaitsDecision'> = {};
  /** Also the tenant's transactional id, and the beginning of the names of temporary groups. */
  protected readonly id: string;
  readonly #options: TenantTopicsOptions;
  /** Names of the topics whose offsets were asked for. */
  readonly #asked = new Set<string>();
  #isConnected = false;

  constructor(options: TenantTopicsOptions) {
    this.#options = options;
    this.id = `${options.topicPrefix}.${options.tenantId}`;
    this.admin = options.kafka.admin();
  }

  async connect(): Promise<void> {
    if (this.#isConnected) return;
    try {
      await this.admin.connect();
      this.#isConnected = true;
    } catch (error) {
      throw kafkaError(error, 'connecting');
    }
  }

  async disconnect(): Promise<void> {
    if (this.#isConnected) await this.admin.disconnect().catch(() => undefined);
    this.#isConnected = false;
  }

  name(suffix: TopicSuffix): string {
    return topicName(this.#options, suffix);
  }

  /** Returns all partitions of topics, by topic name. */
  async allPartitions(suffixes: readonly TopicSuffix[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const all = suffixes.map(async (suffix) => {
      const topic = this.name(suffix);
      const { topics } = await this.admin.fetchTopicMetadata({ topics: [topic] });
      return [topic, Array.from(topics[0]?.partitions ?? [], (_, partition) => partition)] as const;
    });
    return new Map(await Promise.all(all));
  }

  async ranges(suffixes: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    await this.connect();
    for (const topic of suffixes) this.#asked.add(this.name(topic));
    const ranges = suffixes.map(async (topic) => ({
      topic,
      partitions: await fetchOffsets(this.admin, this.name(topic)),
    }));
    return Promise.all(ranges).catch(async (error: RollcallError) => {
      if (error.code !== 'KAFKA_TOPIC_MISSING') throw error;
      // kafkajs asks for all topics that it was ever asked for, and does not say which one is missing.
      const missing = await this.#missing();
      const message =
        missing.length === 0
          ? `A topic of ${this.id} was missing in Kafka, and is listed again`
          : `Kafka has no topic ${missing.join(', ')}`;
      throw new RollcallError(error.code, message, { remedy: error.remedy, cause: error });
    });
  }

  /** The topics that were asked for and are missing. A broker may list one for a moment that another one has deleted. */
  async #missing(): Promise<readonly string[]> {
    for (let look = 1; ; look += 1) {
      const missing = [...this.#asked.difference(new Set(await listTopics(this.admin)))];
      if (missing.length > 0 || look === LOOKS) return missing;
      await delay(BETWEEN_LOOKS_MS);
    }
  }

  async rollIntervals(suffixes: readonly TopicSuffix[]): Promise<RollIntervals> {
    await this.connect();
    const names = suffixes.map((suffix) => this.name(suffix));
    const settings = await describeSettings(this.admin, names);
    const intervalOf = (topic: string): number => {
      const msOf = (name: string): number => Number(settings.get(topic)?.get(name) ?? DAY_MS);
      return Math.min(msOf('segment.ms'), msOf('max.compaction.lag.ms'));
    };
    return new Map(suffixes.map((suffix) => [suffix, intervalOf(this.name(suffix))]));
  }

  /** Returns the end of `progress` for a reader of committed records. */
  async progressEnd(): Promise<number> {
    const [range] = await fetchOffsets(this.admin, this.name('progress'));
    return range?.high ?? 0;
  }

  /** Reads `progress` from its beginning up to, but not including, the offset `to`. Throws `KAFKA_…` and `REGISTRY_…`. */
  async readProgress(to: number, signal: AbortSignal): Promise<LoggedTenant> {
    const found = new LoggedTenant(this.#options.decodeProgress);
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
    return readStretches({ kafka: this.#options.kafka, groupIdPrefix: this.id, ...this.how, ...reading });
  }
}

function toLoggedRecord(topic: TopicSuffix, partition: number, message: KafkaMessage): LoggedRecord {
  const hash = headerOf(message, 'content-hash');
  const mapping = headerOf(message, MAPPING_HEADER);
  return {
    topic,
    partition,
    offset: Number(message.offset),
    key: message.key?.toString('utf8') ?? '',
    value: message.value,
    hash: hash === undefined ? null : Buffer.from(hash.toString('latin1'), 'hex'),
    mapping: mapping === undefined ? null : String(mapping),
    // A getter in a literal would cost ten times the rest of the object.
    headers: () => message.headers,
  };
}
