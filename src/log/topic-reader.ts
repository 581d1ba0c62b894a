import type { TopicSuffix } from '../model/collections.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import type { LoggedRecord, TopicRange } from './log.ts';
import type { ReadOnlyLog } from './read-only-log.ts';

export interface TopicReaderParts {
  readonly log: ReadOnlyLog;
  readonly topicPrefix: string;
  readonly tenantId: string;
}

/** Reads topics of a tenant without owning it: from the beginning, and then to their new ends with each call. */
export class TopicReader {
  readonly #parts: TopicReaderParts;
  readonly #topics: readonly TopicSuffix[];
  readonly #onRecord: (record: LoggedRecord) => Promise<void>;
  /** Last offset that was read, by `<topic>/<partition>`. */
  readonly #after: Record<string, number> = {};

  /** A missing topic counts as empty. `onRecord` gets one record at a time. */
  constructor(
    parts: TopicReaderParts,
    topics: readonly TopicSuffix[],
    onRecord: (record: LoggedRecord) => Promise<void>,
  ) {
    this.#parts = parts;
    this.#topics = topics;
    this.#onRecord = onRecord;
  }

  /** Moves to the present ends of the topics without reading. Throws `KAFKA_…`. */
  async skip(): Promise<void> {
    this.#advanceTo(await this.#parts.log.ranges(this.#topics));
  }

  /** Reads from its position to the present ends of the topics. Throws `KAFKA_…`. */
  async readOn(signal: AbortSignal): Promise<void> {
    const { log } = this.#parts;
    const grown = new Set<TopicSuffix>();
    const ranges = await log.ranges(this.#topics);
    for (const { topic, partitions } of ranges) {
      for (const [partition, { low, high }] of partitions.entries()) {
        // No read reaches the end of a partition whose records are all deleted.
        const after = this.#advance(topic, partition, low - 1);
        if (after + 1 < high) grown.add(topic);
      }
    }
    if (grown.size === 0) return;
    await log.read({
      from: [...grown].map((topic) => ({ topic, after: this.#after })),
      onBatch: async (records) => {
        for (const record of records) {
          await this.#onRecord(record);
          this.#advance(record.topic, record.partition, record.offset);
        }
      },
      signal,
    });
    this.#advanceTo(ranges);
  }

  #advanceTo(ranges: readonly TopicRange[]): void {
    for (const { topic, partitions } of ranges)
      for (const [partition, { high }] of partitions.entries()) this.#advance(topic, partition, high - 1);
  }

  /** Moves a position on, never back; returns where it is. */
  #advance(topic: TopicSuffix, partition: number, offset: number): number {
    const name = partitionName(topicName(this.#parts, topic), partition);
    return (this.#after[name] = Math.max(offset, this.#after[name] ?? -1));
  }
}
