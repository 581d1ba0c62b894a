import { Kafka, logLevel, type Admin } from 'kafkajs';
import { inject, vi } from 'vitest';

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

export interface TopicToCreate {
  readonly topic: string;
  readonly numPartitions: number;
  readonly configEntries: { name: string; value: string }[];
}

/** Creates a topic and waits until it can be written to; kafkajs' own waiting gives up on a topic not yet known. */
export async function createTopic(wanted: TopicToCreate): Promise<void> {
  await withAdmin(async (admin) => {
    const create = (): Promise<boolean> =>
      admin.createTopics({ waitForLeaders: false, topics: [{ ...wanted, replicationFactor: 1 }] });
    await vi.waitFor(create, { timeout: 20_000, interval: 200 });
    await vi.waitFor(() => admin.fetchTopicOffsets(wanted.topic), { timeout: 20_000, interval: 100 });
  });
}

/** Deletes all topics of a test. */
export async function deleteTopicsOf(topicPrefix: string): Promise<void> {
  await withAdmin(async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${topicPrefix}.`));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  });
}
