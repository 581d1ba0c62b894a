import type { Producer } from 'kafkajs';

const END_MARKER_KEY = '@seal';

/** Where the aborted records of each topic lie. */
export type EndMarkers = ReadonlyMap<string, readonly { partition: number; offset: number }[]>;

/**
 * Appends a record to partitions, by topic, in a transaction and aborts it: no reader ever sees it, but the log then
 * ends in a control batch, so that its end can be reached by position whatever was compacted before it; and a segment
 * that is old enough is closed (ADR 2). Returns where those records lie.
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
