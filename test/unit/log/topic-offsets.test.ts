import kafkajs, { type Admin } from 'kafkajs';
import { expect, it } from 'vitest';
import { TenantTopics, type TenantTopicsOptions } from '../../../src/log/tenant-topics.ts';
import { fetchOffsets } from '../../../src/log/topic-offsets.ts';

const OFFSETS = [{ partition: 0, offset: '7', high: '7', low: '2' }];

/** An administrator whose first questions fail so. */
function adminAfter(...failures: readonly Error[]): Admin {
  const left = [...failures];
  const fetchTopicOffsets: Admin['fetchTopicOffsets'] = async () => {
    const failure = left.shift();
    if (failure !== undefined) throw failure;
    return OFFSETS;
  };
  return { fetchTopicOffsets } as unknown as Admin;
}

const typed = (type: string): Error =>
  Object.assign(new kafkajs.KafkaJSProtocolError(new Error('refused')), { type });

it('offsets are asked for again while a broker is away or a leader moves', async () => {
  const admin = adminAfter(
    new kafkajs.KafkaJSConnectionError('connect ECONNREFUSED'),
    typed('NOT_LEADER_FOR_PARTITION'),
  );
  expect(await fetchOffsets(admin, 'p.t.users')).toEqual([{ partition: 0, low: 2, high: 7 }]);
});

it('a missing topic is named, whichever topic was asked for', async () => {
  const existing = new Set(['p.t.users', 'p.t.orgs']);
  // One broker still lists what another one has deleted.
  const listed = [[...existing], ['p.t.users']];
  const asked = new Set<string>();
  // As kafkajs does, each question is one about all topics that were ever asked for.
  const fetchTopicOffsets = async (topic: string) => {
    if (!asked.add(topic).isSubsetOf(existing)) throw typed('UNKNOWN_TOPIC_OR_PARTITION');
    return OFFSETS;
  };
  const connect = () => Promise.resolve();
  const kafka = {
    admin: () => ({ connect, fetchTopicOffsets, listTopics: async () => listed.shift() ?? [] }),
  };
  const topics = new TenantTopics({
    kafka,
    topicPrefix: 'p',
    tenantId: 't',
  } as unknown as TenantTopicsOptions);
  await topics.ranges(['users', 'orgs']);
  existing.delete('p.t.orgs');
  await expect(topics.ranges(['users'])).rejects.toThrow('Kafka has no topic p.t.orgs');
});

it('offsets of a topic that nobody knows are asked for again only if it is new', async () => {
  const missing = typed('UNKNOWN_TOPIC_OR_PARTITION');
  await expect(fetchOffsets(adminAfter(missing), 'p.t.users')).rejects.toMatchObject({
    code: 'KAFKA_TOPIC_MISSING',
  });
  expect(await fetchOffsets(adminAfter(missing), 'p.t.users', { isNew: true })).toHaveLength(1);
});
