import type { Producer } from 'kafkajs';

const END_MARKER_KEY = '@seal';

/** Positions of the end markers, by topic. */
export type EndMarkers = ReadonlyMap<string, readonly { partition: number; offset: number }[]>;

/**
 * Appends a record to each partition in a transaction and aborts it. No consumer receives it, but the partition then
 * ends in a control batch, so a reader can reach its end by position even after compaction; and Kafka closes a segment
 * that is old enough (ADR 2). Returns the positions of those records.
 */
export async function appendEndMarkers(
  producer: Producer,
  partitions: ReadonlyMap<string, readonly number[]>,
): Promise<EndMarkers> {
  const topicMessages = [...partitions].map(([topic, some]) => ({
    topic,
    messages: some.map((partition) => ({ key: END_MARKER_KEY, value: null, partition })),
  }));
  const transaction = await producer.transaction();
  const written = await transaction.sendBatch({ acks: -1, topicMessages });
  await transaction.abort();
  const markers = new Map<string, { partition: number; offset: number }[]>();
  for (const { topicName: topic, partition, baseOffset } of written) {
    const offsets = markers.get(topic) ?? [];
    offsets.push({ partition, offset: Number(baseOffset) });
    markers.set(topic, offsets);
  }
  return markers;
}
