import { maxRecordBytes, RecordBatch, type BatchRecord } from './wire/record-batch.ts';
import type { TopicPartitions } from './transaction-brokers.ts';
import type { PartitionBatch } from './transactional-producer.ts';

/**
 * The size limit of one record batch, bytes. A broker's `message.max.bytes` (1,048,588 by default) applies to a batch,
 * and a produce request has one batch per partition.
 */
export const MAX_BATCH_BYTES = 900_000;

interface OutgoingBatch extends PartitionBatch {
  readonly batch: RecordBatch;
}

/** A buffer for the bytes of a key, which is reused for the next key. */
let keyBytes = Buffer.allocUnsafe(256);

/** The partition of a key by murmur2, as the contract requires and Java's client does by default. */
export function partitionOf(key: string, partitions: number): number {
  if (key.length * 3 > keyBytes.length) keyBytes = Buffer.allocUnsafe(key.length * 3);
  return (murmur2(keyBytes, keyBytes.write(key)) & 0x7fffffff) % partitions;
}

/**
 * Encodes records into batches, and arranges the batches into sends. Each send has at most one batch per partition. No
 * batch of more than one record exceeds {@link MAX_BATCH_BYTES}. The order within each partition is kept.
 */
export class OutgoingBatches {
  readonly #byTopic = new Map<string, Map<number, RecordBatch[]>>();

  add(topic: string, partition: number, record: BatchRecord): void {
    let partitions = this.#byTopic.get(topic);
    if (partitions === undefined) this.#byTopic.set(topic, (partitions = new Map()));
    let batches = partitions.get(partition);
    if (batches === undefined) partitions.set(partition, (batches = []));
    let last = batches.at(-1);
    const bytes = maxRecordBytes(record);
    if (last === undefined || last.byteLength + bytes > MAX_BATCH_BYTES)
      batches.push((last = new RecordBatch()));
    last.append(record);
  }

  /** All partitions that records were added for. */
  get partitions(): TopicPartitions {
    return new Map([...this.#byTopic].map(([topic, partitions]) => [topic, [...partitions.keys()]]));
  }

  *sends(): Generator<readonly OutgoingBatch[]> {
    for (let turn = 0; ; turn += 1) {
      const send: OutgoingBatch[] = [];
      for (const [topic, partitions] of this.#byTopic) {
        for (const [partition, queue] of partitions) {
          const batch = queue[turn];
          if (batch !== undefined) send.push({ topic, partition, batch });
        }
      }
      if (send.length === 0) return;
      yield send;
    }
  }
}

const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;
const SHIFT = 24;

/**
 * Returns Kafka's murmur2 of the first `length` bytes, as a signed 32-bit integer
 * (org.apache.kafka.common.utils.Utils.murmur2).
 */
function murmur2(bytes: Uint8Array, length: number): number {
  let hash = SEED ^ length;
  const tail = length & ~3;
  for (let at = 0; at < tail; at += 4) {
    let word = Math.imul(byteAt(bytes, at) | restOfWord(bytes, at), MULTIPLIER);
    word ^= word >>> SHIFT;
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(word, MULTIPLIER);
  }
  if (length > tail) {
    for (let at = length - 1; at >= tail; at -= 1) hash ^= byteAt(bytes, at) << ((at - tail) * 8);
    hash = Math.imul(hash, MULTIPLIER);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, MULTIPLIER);
  return hash ^ (hash >>> 15);
}

function restOfWord(bytes: Uint8Array, at: number): number {
  return (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24);
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}
