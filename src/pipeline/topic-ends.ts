import { hasLostRecords } from '../core/catch-up-plan.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topics.ts';
import type { TenantLog } from '../log/log.ts';
import type { CollectionWriter } from './collection-writer.ts';

export interface TopicEndsParts {
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly log: TenantLog;
}

interface WatchParts extends TopicEndsParts {
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface TopicEnds {
  /** Next offset to be written, by `<topic>/<partition>`. */
  readonly nextOffsets: Offsets;
  /** First offset still there, likewise. */
  readonly firstOffsets: Offsets;
}

/** Where topics begin and end. Throws `KAFKA_TOPIC_MISSING`, `KAFKA_…`. */
export async function readEnds(parts: TopicEndsParts, topics: readonly TopicSuffix[]): Promise<TopicEnds> {
  const nextOffsets: Record<string, number> = {};
  const firstOffsets: Record<string, number> = {};
  for (const { topic, partitions } of await parts.log.ranges(topics)) {
    for (const [partition, { low, high }] of partitions.entries()) {
      const name = partitionName(topicName(parts, topic), partition);
      nextOffsets[name] = high;
      firstOffsets[name] = low;
    }
  }
  return { nextOffsets, firstOffsets };
}

/** How often the topics are looked at while nothing else would show that they are not what they were. */
const CHECK_EVERY_MS = 60_000;
/** A commit is answered before its markers are written: until then its records lie beyond the last stable offset. */
const MARKERS_WITHIN_MS = 5_000;
const MARKERS_POLL_MS = 100;

/**
 * Throws `KAFKA_RECORDS_LOST` when topics hold less than was committed to them: deleted and recreated, emptied or cut
 * off under a living process. An unchanged hub would never show it: nothing is sent, and a full pass finds all as it
 * was. Cured by owning again, as everything that befalls the log.
 */
export async function requireRecords(
  parts: WatchParts,
  writers: ReadonlyMap<CollectionName, CollectionWriter>,
  signal: AbortSignal,
): Promise<void> {
  // Before the ends are asked for: what is committed meanwhile only adds to them.
  const known = [...writers].map(([collection, writer]) => ({
    collection,
    offsets: writer.offsets,
    knownFirstOffsets: writer.firstOffsets,
  }));
  const topics = new Set(known.flatMap(({ offsets }) => Object.keys(offsets).map(suffixOf)));
  for (let waitedMs = 0; ; waitedMs += MARKERS_POLL_MS) {
    const ends = await readEnds(parts, [...topics]);
    const lost = known.find((each) => hasLostRecords({ ...ends, ...each }));
    if (lost === undefined) return;
    if (waitedMs >= MARKERS_WITHIN_MS) throw recordsLost(lost.collection);
    await parts.sleep(MARKERS_POLL_MS, signal);
  }
}

function recordsLost(collection: CollectionName): RollcallError {
  return new RollcallError('KAFKA_RECORDS_LOST', `A topic of ${collection} holds less than was written`, {
    remedy:
      'Nothing to do: what is missing is published again. Find out who deleted topics or records; nobody should.',
  });
}

/** `<prefix>.<tenant>.<collection>/<partition>` */
export function suffixOf(name: string): TopicSuffix {
  return name.slice(name.lastIndexOf('.') + 1, name.lastIndexOf('/')) as TopicSuffix;
}

/** Looks at the topics from time to time. Rejects with what {@link requireRecords} finds; ends with the signal. */
export async function watchTopics(
  parts: WatchParts,
  writers: ReadonlyMap<CollectionName, CollectionWriter>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await parts.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await requireRecords(parts, writers, signal);
    } catch (error) {
      if (signal.aborted) return;
      // Kafka out of reach shows with the next commit; nothing was learnt of the topics.
      const isPassing = error instanceof RollcallError && error.reaction !== 'restart';
      if (!isPassing) throw error;
    }
  }
}
