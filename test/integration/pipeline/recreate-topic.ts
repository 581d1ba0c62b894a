import kafkajs, { type Admin } from 'kafkajs';
import { expect, vi } from 'vitest';
import { createTopic, withAdmin } from './kafka-admin.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes, ConfigSource } = kafkajs;

export async function deleteTopic(topic: string): Promise<void> {
  await withAdmin(async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    await vi.waitFor(async () => expect(await admin.listTopics()).not.toContain(topic), 20_000);
  });
}

/** Deletes a topic and creates it again, empty, with the same settings. */
export async function recreateTopic(topic: string): Promise<void> {
  const before = await withAdmin(async (admin) => ({
    partitions: (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions.length ?? 1,
    settings: await settingsOf(admin, topic),
  }));
  await deleteTopic(topic);
  await createTopic({ topic, numPartitions: before.partitions, configEntries: before.settings });
}

/** Settings made on the topic itself. */
export async function settingsOf(admin: Admin, topic: string): Promise<{ name: string; value: string }[]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  });
  const own = (resources[0]?.configEntries ?? []).filter(
    (entry) => entry.configSource === ConfigSource.TOPIC_CONFIG,
  );
  return own.map(({ configName, configValue }) => ({ name: configName, value: configValue }));
}

/** Sets settings of a topic, keeps its others, and waits until the broker goes by them. */
export async function setTopicSettings(
  topic: string,
  entries: Readonly<Record<string, string>>,
): Promise<void> {
  await withAdmin(async (admin) => {
    const own = Object.entries(entries).map(([name, value]) => ({ name, value }));
    const others = (await settingsOf(admin, topic)).filter(({ name }) => !(name in entries));
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [...others, ...own] }],
    });
    await vi.waitFor(
      async () => expect(await settingsOf(admin, topic)).toEqual(expect.arrayContaining(own)),
      20_000,
    );
  });
}

/** Deletes records before an offset (`-1`: all); Kafka does so only while the topic is not merely compacted. */
export async function truncateTopic(topic: string, offset = '-1'): Promise<void> {
  await setTopicSettings(topic, { 'cleanup.policy': 'delete' });
  await withAdmin(async (admin) => {
    const partitions = (await admin.fetchTopicOffsets(topic)).map(({ partition }) => ({ partition, offset }));
    await vi.waitFor(() => admin.deleteTopicRecords({ topic, partitions }), 20_000);
  });
  await setTopicSettings(topic, { 'cleanup.policy': 'compact' });
}
