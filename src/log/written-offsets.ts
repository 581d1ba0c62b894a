import type { RecordMetadata } from 'kafkajs';
import type { Offsets } from '../model/progress.ts';
import { partitionName } from '../model/topic-names.ts';

/** A partition's offsets begin again: its topic was deleted and recreated while this process writes to it. */
export class LostRecords extends Error {
  readonly topic: string;

  constructor(topic: string) {
    super(`${topic} has lost records that were written to it`);
    this.topic = topic;
  }
}

/**
 * Adds the last offsets of a send. Throws unless each partition was written exactly once: if a leader changes during a
 * send, kafkajs may write a partition's batch to both brokers.
 */
export function withLastOffsets(
  offsets: Offsets,
  sent: readonly { topic: string; batches: ReadonlyMap<number, { readonly length: number }> }[],
  written: readonly RecordMetadata[],
): Offsets {
  const counts = new Map<string, number>();
  for (const { topic, batches } of sent) {
    for (const [partition, { length }] of batches) counts.set(partitionName(topic, partition), length);
  }
  const result: Record<string, number> = { ...offsets };
  for (const { topicName: topic, partition, baseOffset } of written) {
    const name = partitionName(topic, partition);
    const count = counts.get(name);
    if (count === undefined || baseOffset === undefined) throw new Error(`unexpected answer for ${name}`);
    counts.delete(name);
    // A recreated topic counts from 0 again; such an offset, once committed, would look like a continuation.
    if (Number(baseOffset) <= (result[name] ?? -1)) throw new LostRecords(topic);
    result[name] = Number(baseOffset) + count - 1;
  }
  if (counts.size > 0) throw new Error(`no answer for ${[...counts.keys()].join(', ')}`);
  return result;
}
