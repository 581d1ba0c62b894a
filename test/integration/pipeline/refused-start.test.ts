import { afterAll, beforeEach, expect, inject, it } from 'vitest';
import { topicSettings } from '../../../src/log/topic-settings.ts';
import { newTopicPrefix, openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { createTopic, deleteTopicsOf, settingsOf, withAdmin } from '../support/stack-kafka.ts';

const DAY_MS = 86_400_000;

const hub = await startTestHub();
let topicPrefix: string;

beforeEach(() => {
  topicPrefix = newTopicPrefix();
  return () => deleteTopicsOf(topicPrefix);
});
afterAll(() => hub.stop());

const open = (): Promise<Mirror> => openMirror({ hub, topicPrefix, collections: ['users'] });

/** `changes`: settings in which it is unlike the contract. */
async function createUsersTopic(changes: Record<string, string>, numPartitions = 3): Promise<void> {
  const configEntries = topicSettings('users').map(({ name, value }) => ({
    name,
    value: changes[name] ?? value,
  }));
  await createTopic({ topic: `${topicPrefix}.north.users`, numPartitions, configEntries });
}

/** Everything of the tenant in Kafka: names, partitions, settings. */
async function standing(): Promise<unknown> {
  return withAdmin(async (admin) => {
    const names = (await admin.listTopics()).filter((name) => name.startsWith(`${topicPrefix}.`));
    const { topics } = await admin.fetchTopicMetadata({ topics: names });
    const partitions = topics.map(({ name, partitions: each }) => [name, each.length]);
    return [partitions, await Promise.all(names.map((name) => settingsOf(admin, name)))];
  });
}

it('a topic with weaker settings or another number of partitions is refused with each difference, and nothing is altered', async () => {
  await createUsersTopic(
    { 'cleanup.policy': 'delete', 'segment.ms': String(7 * DAY_MS), 'delete.retention.ms': '1000' },
    2,
  );
  const before = await standing();
  const error = await open().catch((refused: unknown) => refused);
  expect(error).toMatchObject({
    code: 'KAFKA_TOPIC_MISMATCH',
    remedy: expect.stringContaining('rollcall topics'),
  });
  for (const difference of [
    'cleanup.policy is delete, should be compact',
    'segment.ms is 604800000, should be at most 86400000',
    'delete.retention.ms is 1000, should be at least 604800000',
    'it has 2 partitions, the configuration says 3',
  ])
    expect((error as Error).message).toContain(difference);
  expect(await standing()).toEqual(before);
});

it('stricter settings of a topic than the contract asks for are accepted, and a subject without a level of compatibility gets FULL_TRANSITIVE', async () => {
  await createUsersTopic({ 'segment.ms': String(DAY_MS / 24), 'delete.retention.ms': String(30 * DAY_MS) });
  await using mirror = await open();
  expect(mirror.session.runners.has('users')).toBe(true);
  expect(await call('GET', `/config/${subject()}`)).toMatchObject({ compatibilityLevel: 'FULL_TRANSITIVE' });
});

const subject = () => `${topicPrefix}.north.users-value`;

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${inject('stack').registryUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
}

it.each([
  ['int', 'FULL_TRANSITIVE', 'does not fit the versions already registered'],
  ['string', 'BACKWARD', 'has compatibility BACKWARD, the contract requires FULL_TRANSITIVE'],
])(
  'a subject with an id of type %s and compatibility %s is refused and not altered, and no topic is created',
  async (type, level, why) => {
    const schema = {
      type: 'record',
      name: 'User',
      namespace: 'rollcall',
      fields: [{ name: 'sourcedId', type }],
    };
    await call('POST', `/subjects/${subject()}/versions`, { schema: JSON.stringify(schema) });
    await call('PUT', `/config/${subject()}`, { compatibility: level });
    await expect(open()).rejects.toThrow(why);
    expect(await call('GET', `/config/${subject()}`)).toMatchObject({ compatibilityLevel: level });
    expect(await call('GET', `/subjects/${subject()}/versions`)).toEqual([1]);
    expect(await withAdmin((admin) => admin.listTopics())).not.toContain(`${topicPrefix}.north.users`);
  },
);
