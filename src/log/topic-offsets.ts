import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { innermost, kafkaError } from './kafka-errors.ts';

export interface PartitionRange {
  readonly partition: number;
  /** First offset still there. */
  readonly low: number;
  /** First offset that a `read_committed` reader cannot have yet (the last stable offset). */
  readonly high: number;
}

const LEADER_MOVED = new Set(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'REPLICA_NOT_AVAILABLE']);
const ATTEMPTS = 50;
const BETWEEN_ATTEMPTS_MS = 100;

/**
 * Where the partitions of a topic begin and end, by partition.
 *
 * kafkajs asks for offsets with `read_committed` whatever it is told, so `high` does not pass an open transaction:
 * never a proof of how far one's own unfinished writing got. A leader that is moving, as after a topic's creation,
 * is waited for; kafkajs gives up on it at once.
 */
export async function fetchOffsets(admin: Admin, topic: string): Promise<PartitionRange[]> {
  const offsets = await whileLeadersMove(topic, () => admin.fetchTopicOffsets(topic));
  return offsets
    .map(({ partition, low, high }) => ({ partition, low: Number(low), high: Number(high) }))
    .toSorted((a, b) => a.partition - b.partition);
}

/** The first offset of each partition stamped at or after an instant; where there is none, the end. */
export async function fetchOffsetsSince(
  admin: Admin,
  topic: string,
  atMs: number,
): Promise<{ partition: number; offset: number }[]> {
  const offsets = await whileLeadersMove(topic, () => admin.fetchTopicOffsetsByTimestamp(topic, atMs));
  return offsets.map(({ partition, offset }) => ({ partition, offset: Number(offset) }));
}

async function whileLeadersMove<T>(topic: string, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      // kafkajs stumbles over an answer that came while another question had its metadata refreshed.
      const isPassing = error instanceof TypeError || LEADER_MOVED.has(innermost(error).type ?? '');
      if (attempt === ATTEMPTS || !isPassing) {
        throw kafkaError(error, `asking for the offsets of ${topic}`);
      }
      await delay(BETWEEN_ATTEMPTS_MS);
    }
  }
}
