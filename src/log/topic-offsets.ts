import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { innermost, isOfConnection, kafkaError } from './kafka-errors.ts';

export interface PartitionRange {
  readonly partition: number;
  /** First available offset. */
  readonly low: number;
  /** First offset that a `read_committed` reader cannot read yet (the last stable offset). */
  readonly high: number;
}

/** Throws `KAFKA_…`. */
export function listTopics(admin: Pick<Admin, 'listTopics'>): Promise<string[]> {
  return admin.listTopics().catch((error: unknown) => {
    throw kafkaError(error, 'listing topics');
  });
}

const LEADER_MOVED = new Set(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'REPLICA_NOT_AVAILABLE']);
/** A broker that dies is noticed after 9 s (`broker.session.timeout.ms`), and its partitions then have other leaders. */
const WITHIN_MS = 25_000;
const BETWEEN_ATTEMPTS_MS = 100;

/**
 * Returns the range of readable offsets of a topic's partitions, in the order of the partitions.
 *
 * kafkajs always requests offsets with `read_committed`, so `high` stops at an open transaction and does not show how
 * far an unfinished write got. This waits while a leader moves or a broker is away, and for a topic that `isNew` also while
 * brokers do not know it yet; kafkajs would fail.
 */
export async function fetchOffsets(
  admin: Admin,
  topic: string,
  options: { isNew: boolean } = { isNew: false },
): Promise<PartitionRange[]> {
  const untilMs = performance.now() + WITHIN_MS;
  for (;;) {
    try {
      const offsets = await admin.fetchTopicOffsets(topic);
      return offsets
        .map(({ partition, low, high }) => ({ partition, low: Number(low), high: Number(high) }))
        .toSorted((a, b) => a.partition - b.partition);
    } catch (error) {
      // kafkajs throws a TypeError if another request refreshes the metadata before the answer arrives.
      const failure = innermost(error);
      const { type = '' } = failure;
      const isTransient =
        error instanceof TypeError ||
        LEADER_MOVED.has(type) ||
        isOfConnection(failure) ||
        (options.isNew && type === 'UNKNOWN_TOPIC_OR_PARTITION');
      if (performance.now() > untilMs || !isTransient)
        throw kafkaError(error, `reading the offsets of ${topic}`, [
          { operation: 'Describe', on: 'topic', names: [topic] },
        ]);
      await delay(BETWEEN_ATTEMPTS_MS);
    }
  }
}
