import kafkajs from 'kafkajs';
import { vi } from 'vitest';
import { withAdmin } from '../../integration/pipeline/kafka-admin.ts';
import { recreateTopic, settingsOf } from '../../integration/pipeline/recreate-topic.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes } = kafkajs;

/** Ways in which a topic loses what was written to it. */
export const LOSSES: Readonly<Record<string, (topic: string) => Promise<void>>> = {
  'deleted and recreated': recreateTopic,
  emptied: (topic) => deleteRecords(topic, ({ high }) => high),
  'cut off at the front': (topic) =>
    deleteRecords(topic, ({ low, high }) => low + Math.ceil((high - low) / 2)),
};

interface Range {
  readonly low: number;
  readonly high: number;
}

/** Deletes records up to an offset of each partition; Kafka does so only while the topic is not merely compacted. */
async function deleteRecords(topic: string, upTo: (range: Range) => number): Promise<void> {
  await withAdmin(async (admin) => {
    const settings = await settingsOf(admin, topic);
    const alter = (configEntries: { name: string; value: string }[]) =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
      });
    const others = settings.filter(({ name }) => name !== 'cleanup.policy');
    await alter([...others, { name: 'cleanup.policy', value: 'delete' }]);
    const partitions = (await admin.fetchTopicOffsets(topic)).map(({ partition, low, high }) => ({
      partition,
      offset: String(upTo({ low: Number(low), high: Number(high) })),
    }));
    await vi.waitFor(() => admin.deleteTopicRecords({ topic, partitions }), 20_000);
    await alter(settings);
  });
}
