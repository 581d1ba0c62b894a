import { expect, it } from 'vitest';
import { deleteTopics, leftOverTopics } from '../../../src/cli/topics.ts';
import { partsOfTopic } from '../../../src/model/topic-names.ts';
import { load, yamlWith } from '../config/config-text.ts';

const config = load(yamlWith({ tenant: 'collections: [users, orgs]', kafka: 'topicPrefix: roll.call' }));

it('a topic is left over if the configuration does not mirror its tenant or its collection', () => {
  const north = ['users', 'orgs', 'results', 'progress', 'rejects'].map((name) => `north.${name}`);
  const topics = [...north, 'south.users', 'south.progress'].map((name) => `roll.call.${name}`);
  const found = leftOverTopics(topics, config);
  expect(found.map(({ topic, notConfigured }) => [topic, notConfigured])).toEqual([
    ['roll.call.north.results', 'collection'],
    ['roll.call.south.progress', 'tenant'],
    ['roll.call.south.users', 'tenant'],
  ]);
});

it('a topic with another prefix, or with a name of another kind, is never listed as left over', () => {
  const others = ['roll.north.users', 'roll.call.x.north.users', 'roll.call.north', 'roll.call.NORTH.users'];
  const strangers = ['roll.call.north.payments', 'roll.call.north.users.bak', '__consumer_offsets'];
  expect(leftOverTopics([...others, ...strangers], config)).toEqual([]);
});

it('the tenant and collection of a topic are recognised even if the prefix contains dots', () => {
  expect(partsOfTopic('a.b.c.users')).toEqual({ topicPrefix: 'a.b', tenantId: 'c', suffix: 'users' });
  expect(partsOfTopic('users')).toBeNull();
});

/** Deletes topics that the brokers list for some time longer; returns how long that was awaited, ms. */
async function deletion(listedForMs: number): Promise<number> {
  let nowMs = 0;
  const names = ['p.north.results', 'p.north.courses'];
  const listTopics = async () => ['p.north.orgs', ...(nowMs < listedForMs ? names : [])];
  const topics = names.map((name) => ({ name }));
  const { signal } = new AbortController();
  await deleteTopics({ askController: async () => ({}) as never, listTopics }, topics, signal, async (ms) => {
    nowMs += ms;
  });
  return nowMs;
}

it('a deletion of topics is awaited until no broker lists them, and fails after two minutes', async () => {
  expect(await deletion(60_000)).toBe(60_000);
  await expect(deletion(Infinity)).rejects.toMatchObject({
    code: 'KAFKA_UNREACHABLE',
    message: expect.stringContaining('Kafka has accepted the deletion of p.north.results'),
    remedy: expect.stringContaining('run the command again'),
  });
});
