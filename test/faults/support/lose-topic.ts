import kafkajs from 'kafkajs';
import { expect, vi } from 'vitest';
import { withAdmin } from '../../integration/pipeline/kafka-admin.ts';
import { recreateTopic, settingsOf } from '../../integration/pipeline/recreate-topic.ts';
import { readTopics } from '../../integration/support/topic-reader.ts';
import { IS_FULL } from '../../run/rounds.ts';
import { churnedTenant, type ChurnedTenant } from './survive.ts';
import { CHURNED_OPTIONS } from './tenants.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes } = kafkajs;

/** Ways in which a topic loses its records. */
const LOSSES: Readonly<Record<string, (topic: string) => Promise<void>>> = {
  'deleted and recreated': recreateTopic,
  becameEmpty: (topic) => deleteRecords(topic, ({ high }) => high),
  'cut off at the front': (topic) =>
    deleteRecords(topic, ({ low, high }) => low + Math.ceil((high - low) / 2)),
};

/** One topic of each kind: rows, rejects, progress. Where `absences` or `absence-changes` is lost, a person decides. */
const KINDS = ['users', 'rejects', 'progress'];
const TOPICS = [...KINDS, 'absence-versions'];
const WAYS = Object.keys(LOSSES);

/** Sequences of losses, each with the topic and the way. In the long form each topic loses its records in each way alone. */
export const LOST_IN_TURN: readonly (readonly (readonly [topic: string, how: string])[])[] = IS_FULL
  ? TOPICS.flatMap((topic) => WAYS.map((how) => [[topic, how] as const]))
  : [KINDS.map((topic, at) => [topic, WAYS[at % WAYS.length] ?? ''] as const)];

/** The topics that repeat content after a loss. Versions that are published again show their absences again. */
export function repeatedAfter(topic: string): readonly string[] {
  return topic === 'absence-versions' ? [topic, 'absences'] : [topic];
}

/** An unreadable row, so that the rejects have something to lose. Its collection is not compared. */
const UNREADABLE = { sourcedId: 42 };

/** A tenant with something in each of its topics. */
export async function tenantWithRejects(seed: number): Promise<ChurnedTenant> {
  const tenant = await churnedTenant(seed, { collections: [...CHURNED_OPTIONS.collections, 'orgs'] });
  tenant.hub.district.put('orgs', UNREADABLE, { id: 'odd' });
  return tenant;
}

export async function lose({ topicPrefix }: ChurnedTenant, topic: string, how: string): Promise<void> {
  await LOSSES[how]?.(`${topicPrefix}.north.${topic}`);
}

/** Expects exactly one reject for the unreadable row. */
export async function expectRejects({ topicPrefix }: ChurnedTenant): Promise<void> {
  const rejects = await readTopics([`${topicPrefix}.north.rejects`]);
  expect(rejects.filter(({ value }) => value?.['collection'] === 'orgs')).toHaveLength(1);
}

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
    // The controller has accepted the settings; the broker that is asked reports them a little later.
    await vi.waitFor(async () => expect(await settingsOf(admin, topic)).toEqual(settings), 20_000);
  });
}
