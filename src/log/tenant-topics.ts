import type { Admin, Kafka } from 'kafkajs';
import type { CompactionSettings } from '../core/segment-rolls.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import { fetchCompactionSettings } from './compaction-settings.ts';
import { kafkaError } from './kafka-errors.ts';
import type { TopicRange } from './log.ts';
import { fetchOffsets, fetchOffsetsSince } from './topic-offsets.ts';

/** Reads partitions, offsets and settings of a tenant's topics from the brokers. */
export class TenantTopics {
  readonly #scope: { readonly topicPrefix: string; readonly tenantId: string };
  readonly #admin: Admin;
  #isConnected = false;

  constructor(options: { kafka: Kafka; topicPrefix: string; tenantId: string }) {
    this.#scope = options;
    this.#admin = options.kafka.admin();
  }

  async connect(): Promise<void> {
    if (this.#isConnected) return;
    try {
      await this.#admin.connect();
      this.#isConnected = true;
    } catch (error) {
      throw kafkaError(error, 'connecting');
    }
  }

  async disconnect(): Promise<void> {
    if (this.#isConnected) await this.#admin.disconnect().catch(() => undefined);
    this.#isConnected = false;
  }

  name(suffix: TopicSuffix): string {
    return topicName(this.#scope, suffix);
  }

  /** Returns all partitions of topics, by topic name. */
  async allPartitions(suffixes: readonly TopicSuffix[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const all = await Promise.all(
      suffixes.map(async (suffix) => {
        const topic = this.name(suffix);
        const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] });
        return [topic, Array.from(topics[0]?.partitions ?? [], (_, partition) => partition)] as const;
      }),
    );
    return new Map(all);
  }

  /** Returns the first and last offsets of the topics. Throws `KAFKA_TOPIC_MISSING`. */
  async ranges(suffixes: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    await this.connect();
    return Promise.all(
      suffixes.map(async (topic) => ({
        topic,
        partitions: (await fetchOffsets(this.#admin, this.name(topic))).map(({ low, high }) => ({
          low,
          high,
        })),
      })),
    );
  }

  /** Returns the end of `progress` for a reader of committed records. */
  async progressEnd(): Promise<number> {
    const [range] = await fetchOffsets(this.#admin, this.name('progress'));
    return range?.high ?? 0;
  }

  async offsetsSince(suffix: TopicSuffix, atMs: number): Promise<Offsets> {
    await this.connect();
    const topic = this.name(suffix);
    const offsets = await fetchOffsetsSince(this.#admin, topic, atMs);
    return Object.fromEntries(
      offsets.map(({ partition, offset }) => [partitionName(topic, partition), offset]),
    );
  }

  async compactionSettings(
    suffixes: readonly TopicSuffix[],
  ): Promise<ReadonlyMap<TopicSuffix, CompactionSettings>> {
    await this.connect();
    const names = new Map(suffixes.map((suffix) => [this.name(suffix), suffix]));
    const settings = await fetchCompactionSettings(this.#admin, [...names.keys()]);
    return new Map(
      [...settings].flatMap(([name, found]) => {
        const suffix = names.get(name);
        return suffix === undefined ? [] : [[suffix, found]];
      }),
    );
  }
}
