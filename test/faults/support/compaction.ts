import { setTimeout as delay } from 'node:timers/promises';
import { alterTopic, plainKafka, withAdmin } from '../../integration/support/stack-kafka.ts';

/** Settings of a broker whose cleaner looks more often than every 15 s. */
export const EAGER_CLEANER = { 'log.cleaner.backoff.ms': 100 } as const;

/** Settings that let a segment be cleaned as soon as another one begins, and tombstones be removed by the next cleaning. */
const EAGER = {
  'segment.ms': '100',
  'min.cleanable.dirty.ratio': '0.001',
  'delete.retention.ms': '0',
  'max.compaction.lag.ms': '1',
} as const;
const ROLL_EVERY_MS = 300;
const TRIES = 100;

/**
 * Lets the broker compact a topic until the condition holds; then restores its settings. A segment ends only when
 * something is appended: here the aborted transactions of another producer, which no reader sees.
 *
 * @throws Error when that takes too long
 */
export async function compactUntil(
  brokers: string[],
  topic: string,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const before = await alterTopic(topic, (settings) => ({ ...settings, ...EAGER }), brokers);
  for (let tries = 0; !(await isDone()); tries += 1) {
    if (tries === TRIES) throw new Error(`${topic} was not compacted as wanted`);
    await appendAborted(brokers, [topic]);
    // The age of a segment counts from its first record.
    await delay(ROLL_EVERY_MS);
  }
  await alterTopic(topic, () => before, brokers);
}

/** Appends to every partition of topics, and aborts that transaction. */
export async function appendAborted(brokers: string[], topics: readonly string[]): Promise<void> {
  const stranger = plainKafka(brokers).producer({
    transactionalId: `stranger-${process.pid}-${performance.now()}`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await stranger.connect();
  try {
    for (const topic of topics) {
      const partitions = await withAdmin((admin) => admin.fetchTopicOffsets(topic), brokers);
      const messages = partitions.map(({ partition }) => ({ key: 'aborted', value: 'aborted', partition }));
      const transaction = await stranger.transaction();
      await transaction.send({ topic, messages });
      await transaction.abort();
    }
  } finally {
    await stranger.disconnect();
  }
}
