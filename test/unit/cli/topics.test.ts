import { afterEach, describe, expect, it, vi } from 'vitest';
import { deleteTopics, leftOverTopics } from '../../../src/cli/topics.ts';
import { partsOfTopic } from '../../../src/model/topic-names.ts';
import { load, yamlWith } from '../config/config-text.ts';

const config = load(yamlWith({ tenant: 'collections: [users, orgs]', kafka: 'topicPrefix: roll.call' }));

describe('what is left over', () => {
  it('is a topic of a collection that its tenant does not mirror, or of a tenant that is not configured', () => {
    const north = ['users', 'orgs', 'results', 'progress', 'rejects'].map((name) => `north.${name}`);
    const topics = [...north, 'south.users', 'south.progress'].map((name) => `roll.call.${name}`);
    const found = leftOverTopics(topics, config);
    expect(found.map(({ topic, notConfigured }) => [topic, notConfigured])).toEqual([
      ['roll.call.north.results', 'collection'],
      ['roll.call.south.progress', 'tenant'],
      ['roll.call.south.users', 'tenant'],
    ]);
  });

  it('is no topic under another prefix, and no topic of another name', () => {
    const others = [
      'roll.north.users',
      'roll.call.x.north.users',
      'roll.call.north',
      'roll.call.NORTH.users',
    ];
    const strangers = ['roll.call.north.payments', 'roll.call.north.users.bak', '__consumer_offsets'];
    expect(leftOverTopics([...others, ...strangers], config)).toEqual([]);
  });

  it('is recognised even if the prefix contains dots', () => {
    expect(partsOfTopic('a.b.c.users')).toEqual({ topicPrefix: 'a.b', tenantId: 'c', suffix: 'users' });
    expect(partsOfTopic('users')).toBeNull();
  });
});

vi.mock('../../../src/runtime.ts', () => ({
  sleep: (ms: number) => Promise.resolve(void vi.setSystemTime(Date.now() + ms)),
}));
afterEach(() => vi.useRealTimers());

/** Deletes topics that the brokers list for some time longer. */
function deletion(listedForMs: number): Promise<void> {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  const names = ['p.north.results', 'p.north.courses'];
  const listTopics = async () => ['p.north.orgs', ...(Date.now() < listedForMs ? names : [])];
  const topics = names.map((name) => ({ name }));
  return deleteTopics({ deleteTopics: async () => {}, listTopics }, topics, new AbortController().signal);
}

it('topics that were deleted are awaited until no broker lists them, which is an error after two minutes', async () => {
  await deletion(60_000);
  expect(Date.now()).toBe(60_000);
  await expect(deletion(Infinity)).rejects.toMatchObject({
    code: 'KAFKA_UNREACHABLE',
    message: expect.stringContaining('Kafka has accepted the deletion of p.north.results'),
    remedy: expect.stringContaining('give the command again'),
  });
});
