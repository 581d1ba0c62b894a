import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { Kafka, logLevel, type Admin, type Producer } from 'kafkajs';
import { settingsOf } from '../../integration/pipeline/recreate-topic.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes } = kafkajs;

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
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const stranger = strangerOf(kafka);
  await Promise.all([admin.connect(), stranger.connect()]);
  try {
    const settings = await settingsOf(admin, topic);
    const others = settings.filter(({ name }) => !(name in EAGER));
    await alter(admin, topic, [
      ...others,
      ...Object.entries(EAGER).map(([name, value]) => ({ name, value })),
    ]);
    await rollUntil({ admin, stranger, topic, isDone });
    await alter(admin, topic, settings);
  } finally {
    await Promise.all([admin.disconnect(), stranger.disconnect()]);
  }
}

/** Appends to every partition of topics, and aborts that transaction. */
export async function appendAborted(brokers: string[], topics: readonly string[]): Promise<void> {
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const stranger = strangerOf(kafka);
  await Promise.all([admin.connect(), stranger.connect()]);
  try {
    for (const topic of topics) await abortIn({ admin, stranger, topic });
  } finally {
    await Promise.all([admin.disconnect(), stranger.disconnect()]);
  }
}

function strangerOf(kafka: Kafka): Producer {
  return kafka.producer({
    transactionalId: `stranger-${process.pid}-${performance.now()}`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
}

async function alter(
  admin: Admin,
  topic: string,
  configEntries: { name: string; value: string }[],
): Promise<void> {
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
  });
}

async function rollUntil(options: {
  admin: Admin;
  stranger: Producer;
  topic: string;
  isDone: () => Promise<boolean>;
}): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    await abortIn(options);
    // The age of a segment counts from its first record.
    await delay(ROLL_EVERY_MS);
    if (await options.isDone()) return;
  }
  throw new Error(`${options.topic} was not compacted as wanted`);
}

async function abortIn({
  admin,
  stranger,
  topic,
}: {
  admin: Admin;
  stranger: Producer;
  topic: string;
}): Promise<void> {
  const partitions = await admin.fetchTopicOffsets(topic);
  const transaction = await stranger.transaction();
  const messages = partitions.map(({ partition }) => ({ key: 'aborted', value: 'aborted', partition }));
  await transaction.send({ topic, messages });
  await transaction.abort();
}
