import kafkajs, { Kafka, logLevel, type Admin, type ITopicConfig } from 'kafkajs';
import { expect, inject, vi } from 'vitest';
import { endOffsetsAt, readTopicsAt, type EndOffsets, type TopicRecord } from './read-topics.ts';

export { compactedView, type EndOffsets, type TopicRecord } from './read-topics.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes, ConfigSource } = kafkajs;

type Settings = Readonly<Record<string, string>>;

/** A Kafka client that knows nothing of Rollcall; default: of the stack of the tests. */
export function plainKafka(brokers = inject('stack').kafkaBrokers): Kafka {
  return new Kafka({ brokers, logLevel: logLevel.NOTHING });
}

export async function withAdmin<T>(work: (admin: Admin) => Promise<T>, brokers?: string[]): Promise<T> {
  const admin = plainKafka(brokers).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Where the topics end now. */
export function endOffsets(topics: readonly string[]): Promise<EndOffsets> {
  return endOffsetsAt(inject('stack'), topics);
}

/** All committed records from the beginning to the present end. */
export function readTopics(topics: readonly string[]): Promise<TopicRecord[]> {
  return readTopicsAt(inject('stack'), topics);
}

/** The broker's own default (KIP-464). */
const DEFAULT_REPLICATION = -1;

/** Creates a topic and waits until it can be written to; kafkajs' own waiting gives up on a topic not yet known. */
export async function createTopic(wanted: ITopicConfig): Promise<void> {
  await withAdmin(async (admin) => {
    const create = (): Promise<boolean> =>
      admin.createTopics({
        waitForLeaders: false,
        topics: [{ ...wanted, replicationFactor: DEFAULT_REPLICATION }],
      });
    await vi.waitFor(create);
    await vi.waitFor(() => admin.fetchTopicOffsets(wanted.topic));
  });
}

/** Deletes all topics of a test. */
export async function deleteTopicsOf(topicPrefix: string, brokers?: string[]): Promise<void> {
  await withAdmin(async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${topicPrefix}.`));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  }, brokers);
}

export async function deleteTopic(topic: string): Promise<void> {
  await withAdmin(async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    await vi.waitFor(async () => expect(await admin.listTopics()).not.toContain(topic));
  });
}

/** Deletes a topic and creates it again, empty, with the same settings. */
export async function recreateTopic(topic: string): Promise<void> {
  const before = await withAdmin(async (admin) => ({
    partitions: (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions.length ?? 1,
    settings: await settingsOf(admin, topic),
  }));
  await deleteTopic(topic);
  await createTopic({ topic, numPartitions: before.partitions, configEntries: entriesOf(before.settings) });
}

const entriesOf = (settings: Settings) => Object.entries(settings).map(([name, value]) => ({ name, value }));

/** Settings made on the topic itself. */
export async function settingsOf(admin: Admin, topic: string): Promise<Settings> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  });
  const own = (resources[0]?.configEntries ?? []).filter(
    (entry) => entry.configSource === ConfigSource.TOPIC_CONFIG,
  );
  return Object.fromEntries(own.map(({ configName, configValue }) => [configName, configValue]));
}

/** Alters the settings of a topic, and waits until the broker goes by them; returns those that it had. */
export async function alterTopic(
  topic: string,
  change: (before: Settings) => Settings,
  brokers?: string[],
): Promise<Settings> {
  return withAdmin(async (admin) => {
    const before = await settingsOf(admin, topic);
    const after = change(before);
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: entriesOf(after) }],
    });
    await vi.waitFor(async () => expect(await settingsOf(admin, topic)).toEqual(after));
    return before;
  }, brokers);
}

/** Sets settings of a topic, and keeps its others. */
export async function setTopicSettings(topic: string, settings: Settings): Promise<void> {
  await alterTopic(topic, (before) => ({ ...before, ...settings }));
}

/** Deletes records before an offset (`-1`: all); Kafka does so only while the topic is not merely compacted. */
export async function truncateTopic(topic: string, offset = '-1'): Promise<void> {
  await setTopicSettings(topic, { 'cleanup.policy': 'delete' });
  await withAdmin(async (admin) => {
    const partitions = (await admin.fetchTopicOffsets(topic)).map(({ partition }) => ({ partition, offset }));
    await vi.waitFor(() => admin.deleteTopicRecords({ topic, partitions }));
  });
  await setTopicSettings(topic, { 'cleanup.policy': 'compact' });
}
