import { afterAll, expect, it } from 'vitest';
import { acl, RightsWorld } from './support/rights-world.ts';

const world = await RightsWorld.start();
afterAll(() => world[Symbol.asyncDispose]());

const TOPICS = ['orgs', 'progress', 'rejects'].map((suffix) => `rollcall.north.${suffix}`);

it('the Kafka rights that "check" names are enough for "run", and "check" itself changes nothing', async () => {
  const denied = await world.check();
  expect(denied.map(({ text }) => text)).toEqual([
    `Kafka denies this user Create, Describe, DescribeConfigs, Read, Write on the topics ${TOPICS.join(', ')}`,
    'Kafka denies this user Write on the transactional id rollcall.north',
    'Kafka denies this user Read on the group rollcall.workers',
  ]);
  for (const { remedy = '' } of denied) await world.grant(remedy);
  expect(await world.check()).toEqual([]);
  expect(await world.admin.listTopics()).toEqual([]);
  expect((await world.admin.listGroups()).groups).toEqual([]);

  await using run = await world.run();
  expect(await world.check()).toEqual([]);
  // It has fenced nobody, and the next change needs no other session.
  world.changeRow();
  await world.isPublished(run);
  expect(run.output().match(/"mirroring"/g)).toHaveLength(1);
});

it('a Kafka right that a running process loses is named once, and granting the right again suffices', async () => {
  await using run = await world.run();
  // The other topics keep it.
  for (const topic of TOPICS.slice(1)) await world.grant(acl(`--topic ${topic}`, 'Write'));
  await world.take(acl('--resource-pattern-type prefixed --topic rollcall.north.', 'Write'));
  await world.losesAndRegains(run, 'Write on the topic rollcall.north.orgs');
});
