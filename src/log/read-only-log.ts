import { setTimeout as delay } from 'node:timers/promises';
import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName } from '../model/topic-names.ts';
import type { LoggedRecord, LogReading, TenantLog, TopicRange } from './log.ts';
import { LoggedTenant } from './progress-reader.ts';
import { TenantTopics } from './tenant-topics.ts';

/** A broker answers a commit before it writes the markers; until then the records are after the last stable offset. */
const MARKERS_WITHIN_MS = 5_000;
const MARKERS_POLL_MS = 100;

/**
 * A tenant's topics for a reader that does not own the tenant: it fences no process and writes nothing, not even an end
 * marker. A missing topic counts as empty. Throws `KAFKA_…`, and `REGISTRY_…` for records of `progress`.
 */
export class ReadOnlyLog extends TenantTopics implements Pick<TenantLog, 'ranges' | 'read'> {
  protected override readonly isOwner = false;
  /** The last offsets of data that `progress` names. */
  #known: Offsets = {};

  /** Reads `progress` to its current end, including every commit that was answered before the call. */
  async progress(signal: AbortSignal): Promise<LoggedTenant> {
    const logged = await this.readProgress(await this.progressEnd(), signal);
    this.#known = furthest([...logged.progress.values()].map(({ offsets }) => offsets));
    return logged;
  }

  override async ranges(suffixes: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    for (let waitedMs = 0; ; waitedMs += MARKERS_POLL_MS) {
      const found = await super.ranges(suffixes);
      const isBehind = found.some((each) => this.#isBehind(each));
      if (!isBehind || waitedMs >= MARKERS_WITHIN_MS) {
        // Records that do not come within this time count as lost: later reads do not wait for them.
        if (isBehind) this.#known = {};
        return found;
      }
      await delay(MARKERS_POLL_MS);
    }
  }

  #isBehind({ topic, partitions }: TopicRange): boolean {
    const name = this.name(topic);
    return partitions.some(({ high }, at) => high <= (this.#known[partitionName(name, at)] ?? -1));
  }

  async read(reading: LogReading): Promise<void> {
    const ranges = await super.ranges(reading.from.map(({ topic }) => topic));
    const last = ranges.flatMap(({ topic, partitions }) =>
      partitions.flatMap(({ low, high }, partition) =>
        // No read reaches the end of a partition whose records are all deleted.
        low < high ? [{ topic: this.name(topic), partition, offset: high - 1 }] : [],
      ),
    );
    await this.readUpTo(last, reading);
  }
}

/** Returns the greatest offset of each partition, because several collections name offsets of `rejects`. */
function furthest(all: readonly Offsets[]): Offsets {
  const found: Record<string, number> = {};
  for (const [name, offset] of all.flatMap((offsets) => Object.entries(offsets)))
    found[name] = Math.max(found[name] ?? -1, offset);
  return found;
}

export type TopicReader = ReturnType<typeof topicReader>;

/**
 * Reads topics of a tenant without owning it: from the beginning, and then to their new ends with each call. A missing
 * topic counts as empty. `onRecord` gets one record at a time.
 */
export function topicReader(
  log: ReadOnlyLog,
  topics: readonly TopicSuffix[],
  onRecord: (record: LoggedRecord) => Promise<void>,
) {
  /** Last offset that was read, by `<topic>/<partition>`. */
  const after: Record<string, number> = {};

  /** Moves a position on, never back; returns where it is. */
  function advance(topic: TopicSuffix, partition: number, offset: number): number {
    const name = partitionName(log.name(topic), partition);
    return (after[name] = Math.max(offset, after[name] ?? -1));
  }

  function advanceTo(ranges: readonly TopicRange[]): void {
    for (const { topic, partitions } of ranges)
      for (const [partition, { high }] of partitions.entries()) advance(topic, partition, high - 1);
  }

  return {
    /** Moves to the current ends of the topics without reading. Throws `KAFKA_…`. */
    async skip(): Promise<void> {
      advanceTo(await log.ranges(topics));
    },
    /** Reads from its position to the current ends of the topics. Throws `KAFKA_…`. */
    async readOn(signal: AbortSignal): Promise<void> {
      const ranges = await log.ranges(topics);
      const grown = ranges.filter(({ topic, partitions }) => {
        // No read reaches the end of a partition whose records are all deleted.
        const left = partitions.map(({ low, high }, at) => high - 1 - advance(topic, at, low - 1));
        return left.some((records) => records > 0);
      });
      if (grown.length === 0) return;
      await log.read({
        from: grown.map(({ topic }) => ({ topic, after })),
        onBatch: async (records) => {
          for (const record of records) {
            await onRecord(record);
            advance(record.topic, record.partition, record.offset);
          }
        },
        signal,
      });
      advanceTo(ranges);
    },
  };
}
