import type { Admin, IHeaders, Kafka } from 'kafkajs';
import type { TopicSuffix } from '../../model/collections.ts';
import { partitionName, topicName } from '../../model/topics.ts';
import { readStretches, type Stretch } from '../../log/kafka-reader.ts';
import { fetchOffsets } from '../../log/topic-offsets.ts';

/** A committed record of a topic. */
export interface StoredRecord {
  readonly topic: TopicSuffix;
  readonly key: string;
  /** Null for a removal. */
  readonly value: Buffer | null;
  readonly headers: IHeaders;
}

export interface TopicReaderParts {
  readonly kafka: Kafka;
  /** Connected. */
  readonly admin: Admin;
  readonly topicPrefix: string;
  readonly tenantId: string;
}

/** Reads topics of a tenant without owning it: from the beginning, and then to their new ends with each call. */
export class TopicReader {
  readonly #parts: TopicReaderParts;
  readonly #suffixes: ReadonlyMap<string, TopicSuffix>;
  readonly #onRecord: (record: StoredRecord) => Promise<void>;
  /** Next offset to be read, by `<topic>/<partition>`. */
  readonly #next = new Map<string, number>();

  /** A missing topic counts as empty. `onRecord` gets one record at a time. */
  constructor(
    parts: TopicReaderParts,
    suffixes: readonly TopicSuffix[],
    onRecord: (record: StoredRecord) => Promise<void>,
  ) {
    this.#parts = parts;
    this.#suffixes = new Map(suffixes.map((suffix) => [topicName(parts, suffix), suffix]));
    this.#onRecord = onRecord;
  }

  /** Reads from its position to the present ends of the topics. Throws `KAFKA_…`. */
  async readOn(signal: AbortSignal): Promise<void> {
    const { kafka, admin, topicPrefix, tenantId } = this.#parts;
    const existing = new Set(await admin.listTopics());
    const stretches: Stretch[] = [];
    for (const topic of this.#suffixes.keys()) {
      if (!existing.has(topic)) continue;
      for (const { partition, low, high } of await fetchOffsets(admin, topic)) {
        const from = Math.max(low, this.#next.get(partitionName(topic, partition)) ?? 0);
        stretches.push({ topic, partition, from, to: high });
      }
    }
    await readStretches({
      kafka,
      groupIdPrefix: `${topicPrefix}.${tenantId}.verify`,
      stretches: stretches.filter(({ from, to }) => from < to),
      onMessages: async ({ topic, partition, messages }) => {
        const suffix = this.#suffixes.get(topic);
        if (suffix === undefined) return;
        for (const { key, value, headers = {}, offset } of messages) {
          await this.#onRecord({ topic: suffix, key: key?.toString('utf8') ?? '', value, headers });
          this.#next.set(partitionName(topic, partition), Number(offset) + 1);
        }
      },
      signal,
    });
    for (const { topic, partition, to } of stretches) {
      const name = partitionName(topic, partition);
      this.#next.set(name, Math.max(to, this.#next.get(name) ?? 0));
    }
  }
}
