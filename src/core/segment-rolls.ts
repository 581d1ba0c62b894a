import type { TopicSuffix } from '../model/collections.ts';

/** Settings of a topic, as the brokers have them, that say when compaction reaches a record. */
export interface CompactionSettings {
  readonly segmentMs: number;
  readonly maxCompactionLagMs: number;
  readonly deleteRetentionMs: number;
}

/** A topic of a tenant, with what was last written to its partitions. */
export interface WrittenTopic {
  readonly topic: TopicSuffix;
  readonly settings: CompactionSettings;
  /** Changes whenever data is committed to the partition; by partition. Partitions without data are left out. */
  readonly lastWritten: ReadonlyMap<number, number>;
}

/** Partitions by topic. */
export type EndsToMark = ReadonlyMap<TopicSuffix, readonly number[]>;

/** An append rolls a segment only when it is older than the interval, not when it is as old. */
const BEYOND_INTERVAL_MS = 1_000;

/** How late the broker's cleaner may come to what it has to compact: on a busy broker it takes its turn. */
const CLEANER_LATE_MS = 600_000;

/**
 * Kafka closes the segment that a partition is written to only when something is appended, and compacts closed segments
 * only. So a partition that has changed gets end markers, one an interval, until compaction has reached what was removed:
 * the second one after a change closes its segment, and those after keep compaction going until the removal has gone too.
 */
export class SegmentRolls {
  readonly #lastRoundMs = new Map<TopicSuffix, number>();
  readonly #changed = new Map<string, { readonly lastWritten: number; readonly atMs: number }>();

  /** The partitions, by topic, that need an end marker now; each topic counts as looked at. */
  due(topics: readonly WrittenTopic[], nowMs: number): EndsToMark {
    const due = new Map<TopicSuffix, readonly number[]>();
    for (const each of topics) {
      if (nowMs < this.#nextRoundMs(each, nowMs)) continue;
      this.#lastRoundMs.set(each.topic, nowMs);
      const partitions = [...each.lastWritten.keys()].filter((partition) =>
        this.#isUnsettled(each, partition, nowMs),
      );
      if (partitions.length > 0) due.set(each.topic, partitions);
    }
    return due;
  }

  /** Their markers were not appended: they are due again. */
  missed(due: EndsToMark): void {
    for (const topic of due.keys()) this.#lastRoundMs.delete(topic);
  }

  /** How long until a topic is to be looked at again, ms. */
  pauseMs(topics: readonly WrittenTopic[], nowMs: number): number {
    return Math.max(0, Math.min(...topics.map((each) => this.#nextRoundMs(each, nowMs) - nowMs)));
  }

  #nextRoundMs({ topic, settings }: WrittenTopic, nowMs: number): number {
    const last = this.#lastRoundMs.get(topic);
    // What was noted by a clock that has been set back since says nothing any more.
    return last === undefined || last > nowMs ? nowMs : last + rollIntervalMs(settings) + BEYOND_INTERVAL_MS;
  }

  /** What this process has not seen written may have been written just before it came. */
  #isUnsettled({ topic, settings, lastWritten }: WrittenTopic, partition: number, nowMs: number): boolean {
    const key = `${topic}/${partition}`;
    const written = lastWritten.get(partition) ?? -1;
    const known = this.#changed.get(key);
    if (known === undefined || known.lastWritten !== written) {
      this.#changed.set(key, { lastWritten: written, atMs: nowMs });
      return true;
    }
    return nowMs - known.atMs <= settledAfterMs(settings);
  }
}

/** The age at which an append closes the segment before it. */
function rollIntervalMs({ segmentMs, maxCompactionLagMs }: CompactionSettings): number {
  return Math.min(segmentMs, maxCompactionLagMs);
}

/** Two intervals to close the segment, the lag to have it compacted, the retention; then the same for the removal. */
function settledAfterMs(settings: CompactionSettings): number {
  const interval = rollIntervalMs(settings) + BEYOND_INTERVAL_MS;
  return 4 * interval + settings.maxCompactionLagMs + settings.deleteRetentionMs + CLEANER_LATE_MS;
}
