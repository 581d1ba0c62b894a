import { Kafka, logLevel, type Admin } from 'kafkajs';
import { inject } from 'vitest';

/** A Kafka client that knows nothing of Rollcall. */
export function plainKafka(): Kafka {
  return new Kafka({ brokers: inject('stack').kafkaBrokers, logLevel: logLevel.NOTHING });
}

export async function withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = plainKafka().admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Leaves nothing of a test behind. */
export async function deleteTopicsOf(topicPrefix: string): Promise<void> {
  await withAdmin(async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${topicPrefix}.`));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  });
}
