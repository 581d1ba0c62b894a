import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel, type Admin } from 'kafkajs';

const LOOK_AGAIN_MS = 2_000;

/**
 * Waits until the topics exist: Rollcall creates them when it first mirrors a tenant, and a consumer may be started
 * before. Says on stderr, once, what it waits for.
 */
export async function waitForTopics(brokers: readonly string[], topics: readonly string[]): Promise<void> {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry: { retries: 0 } });
  let said = '';
  for (;;) {
    const missing = await missingOf(kafka, topics).catch(() => null);
    if (missing?.length === 0) return awaitCoordinator(brokers);
    const reason =
      missing === null
        ? `Waiting for Kafka at ${brokers.join(', ')} (ROLLCALL_KAFKA_BROKERS names another address).`
        : `Waiting for ${missing.join(' and ')}: "rollcall run" creates them.`;
    if (reason !== said) console.error(reason);
    said = reason;
    await delay(LOOK_AGAIN_MS);
  }
}

async function missingOf(kafka: Kafka, topics: readonly string[]): Promise<string[]> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    const existing = new Set(await admin.listTopics());
    const missing: string[] = [];
    for (const topic of topics)
      if (!existing.has(topic) || !(await hasLeaders(admin, topic))) missing.push(topic);
    return missing;
  } finally {
    await admin.disconnect();
  }
}

/** The partitions of a topic that was just created have no leader for a moment: a consumer would log errors. */
async function hasLeaders(admin: Admin, topic: string): Promise<boolean> {
  return admin.fetchTopicOffsets(topic).then(
    () => true,
    () => false,
  );
}

/**
 * A new Kafka creates the coordinator of consumer groups when it is first asked for one, and a consumer would log an error
 * meanwhile. kafkajs asks again for some seconds; if that does not help, the consumer says what is wrong.
 */
async function awaitCoordinator(brokers: readonly string[]): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  try {
    await admin.connect();
    await admin.describeGroups(['example']).catch(() => undefined);
  } finally {
    await admin.disconnect();
  }
}
