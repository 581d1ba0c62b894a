import type { TopicSuffix } from '../model/collections.ts';

/** The age of a topic's segments, ms, above which an append closes them: the smaller of `segment.ms` and `max.compaction.lag.ms`. */
export type RollIntervals = ReadonlyMap<TopicSuffix, number>;

/** An append rolls a segment only when the segment is older than the interval; an equal age is not enough. */
const BEYOND_INTERVAL_MS = 1_000;

/**
 * Decides when the partitions of a topic get end markers. Kafka compacts closed segments only, and closes the active segment
 * only on an append. So each partition with data gets one end marker per interval: the second marker after a change closes
 * its segment, and later ones let compaction delete the tombstone as well.
 */
export class SegmentRolls {
  readonly #lastMarkedMs = new Map<TopicSuffix, number>();

  /** The topics that need end markers now. After the call, they count as done. */
  due(intervals: RollIntervals, nowMs: number): readonly TopicSuffix[] {
    const due = [...intervals.keys()].filter((topic) => this.#nextMarkMs(topic, intervals, nowMs) <= nowMs);
    for (const topic of due) this.#lastMarkedMs.set(topic, nowMs);
    return due;
  }

  /** The markers were not appended, so these topics are due again. */
  missed(due: readonly TopicSuffix[]): void {
    for (const topic of due) this.#lastMarkedMs.delete(topic);
  }

  /** Time until the next topic is due, ms. */
  pauseMs(intervals: RollIntervals, nowMs: number): number {
    const next = [...intervals.keys()].map((topic) => this.#nextMarkMs(topic, intervals, nowMs));
    return Math.max(0, Math.min(...next) - nowMs);
  }

  #nextMarkMs(topic: TopicSuffix, intervals: RollIntervals, nowMs: number): number {
    const last = this.#lastMarkedMs.get(topic);
    // A time in the future means that the clock was set back since.
    if (last === undefined || last > nowMs) return nowMs;
    return last + (intervals.get(topic) ?? 0) + BEYOND_INTERVAL_MS;
  }
}
