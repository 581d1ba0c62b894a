import { randomUUID } from 'node:crypto';
import type { Consumer, Kafka } from 'kafkajs';
import type { Progress } from '../types/progress.d.ts';
import type { TopicConsumer } from './open-consumer.ts';

/** The life of a topic, as `progress` says. */
export interface TopicLife extends AsyncDisposable {
  /** Resolves with the id of the life as soon as `progress` is read to its end and Rollcall has published something in the topic. */
  readonly id: Promise<string>;
}

/**
 * Reads `progress` from its beginning, and goes on. If the topic of `collection` begins another life, `ended` rejects: the
 * topic was recreated, or lost records, and positions of the former life mean nothing.
 *
 * @param topics `<prefix>.<tenant>`
 */
export async function followLife(
  { kafka, registry, ended }: Pick<TopicConsumer, 'kafka' | 'registry' | 'ended'>,
  topics: string,
  collection: string,
): Promise<TopicLife> {
  const progress = `${topics}.progress`;
  const end = await endOf(kafka, progress);
  const first = Promise.withResolvers<string>();
  let isKnown = false;
  let life: string | null = null;
  let seen = -1;
  // The group is new and commits no offsets: each start reads everything.
  const consumer: Consumer = kafka.consumer({
    groupId: `life-${randomUUID()}`,
    allowAutoTopicCreation: false,
  });
  // This also runs after batches that have only ends of transactions, because these batches move the position forward, too.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    seen = Math.max(seen, Number(payload.lastOffset));
    if (life === null || seen < end - 1) return;
    isKnown = true;
    first.resolve(life);
  });
  await consumer.connect();
  await consumer.subscribe({ topic: progress, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      for (const { key, value, offset } of batch.messages) {
        // After a reconnection the consumer begins again. Older records tell of former lives.
        if (Number(offset) <= seen || value === null || String(key) !== collection) continue;
        const { lifeId } = (await registry.decode(value)) as Progress;
        if (lifeId == null) continue;
        if (isKnown && lifeId !== life) ended.reject(new Error(recreated(collection)));
        life = lifeId;
      }
    },
  });
  return { id: first.promise, [Symbol.asyncDispose]: () => consumer.disconnect() };
}

/** What a program says that has to begin again. */
export function recreated(collection: string): string {
  return `The topic of ${collection} was recreated, or lost records. Start this program again: it then reads the topic from the beginning.`;
}

async function endOf(kafka: Kafka, topic: string): Promise<number> {
  const admin = kafka.admin();
  await admin.connect();
  const [{ high } = { high: '0' }] = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  return Number(high);
}
