import type { TopicSuffix } from '../model/collections.ts';

/** Settings of a topic, read from the brokers, that determine when compaction reaches a record. */
export interface CompactionSettings {
  readonly segmentMs: number;
  readonly maxCompactionLagMs: number;
  readonly deleteRetentionMs: number;
}

/** A topic of a tenant, with the state of its partitions. */
export interface WrittenTopic {
  readonly topic: TopicSuffix;
  readonly settings: CompactionSettings;
  /** By partition, a number that changes with each commit of data. Partitions without data are absent. */
  readonly lastWritten: ReadonlyMap<number, number>;
}

/** Partitions by topic. */
export type EndsToMark = ReadonlyMap<TopicSuffix, readonly number[]>;

/** An append rolls a segment only when the segment is older than the interval; an equal age is not enough. */
const BEYOND_INTERVAL_MS = 1_000;

/** How long the cleaner of a busy broker may take to reach a partition. */
const CLEANER_LATE_MS = 600_000;

/**
 * Decides when a partition needs an end marker. Kafka compacts closed segments only, and closes the active segment only
 * on an append. So a changed partition gets one end marker per interval until compaction has deleted the removed data:
 * the second marker after a change closes its segment, and later ones let compaction delete the tombstone as well.
 */
export class SegmentRolls {
  readonly #lastMarkedMs = new Map<TopicSuffix, number>();
  readonly #changed = new Map<string, { readonly lastWritten: number; readonly atMs: number }>();

  /** The partitions, by topic, that need an end marker now. Each topic that is due counts as handled. */
  due(topics: readonly WrittenTopic[], nowMs: number): EndsToMark {
    const due = new Map<TopicSuffix, readonly number[]>();
    for (const each of topics) {
      if (nowMs < this.#nextMarkMs(each, nowMs)) continue;
      this.#lastMarkedMs.set(each.topic, nowMs);
      const partitions = [...each.lastWritten.keys()].filter((partition) =>
        this.#mayHoldRemovedData(each, partition, nowMs),
      );
      if (partitions.length > 0) due.set(each.topic, partitions);
    }
    return due;
  }

  /** The markers were not appended, so these partitions are due again. */
  missed(due: EndsToMark): void {
    for (const topic of due.keys()) this.#lastMarkedMs.delete(topic);
  }

  /** Time until the next topic is due, ms. */
  pauseMs(topics: readonly WrittenTopic[], nowMs: number): number {
    return Math.max(0, Math.min(...topics.map((each) => this.#nextMarkMs(each, nowMs) - nowMs)));
  }

  #nextMarkMs({ topic, settings }: WrittenTopic, nowMs: number): number {
    const last = this.#lastMarkedMs.get(topic);
    // A time in the future means that the clock was set back since.
    return last === undefined || last > nowMs ? nowMs : last + rollIntervalMs(settings) + BEYOND_INTERVAL_MS;
  }

  /** A partition that this process sees for the first time may have changed just before. */
  #mayHoldRemovedData(
    { topic, settings, lastWritten }: WrittenTopic,
    partition: number,
    nowMs: number,
  ): boolean {
    const key = `${topic}/${partition}`;
    const written = lastWritten.get(partition) ?? -1;
    const known = this.#changed.get(key);
    if (known === undefined || known.lastWritten !== written) {
      this.#changed.set(key, { lastWritten: written, atMs: nowMs });
      return true;
    }
    return nowMs - known.atMs <= compactedAfterMs(settings);
  }
}

/** The age of a segment above which an append closes it. */
function rollIntervalMs({ segmentMs, maxCompactionLagMs }: CompactionSettings): number {
  return Math.min(segmentMs, maxCompactionLagMs);
}

/** Two intervals to close the segment, the compaction lag, the retention; then two more intervals for the tombstone. */
function compactedAfterMs(settings: CompactionSettings): number {
  const interval = rollIntervalMs(settings) + BEYOND_INTERVAL_MS;
  return 4 * interval + settings.maxCompactionLagMs + settings.deleteRetentionMs + CLEANER_LATE_MS;
}
