import { afterAll, expect, it } from 'vitest';
import { IS_FULL } from '../../run/rounds.ts';
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

const prefixed = (resource: string): string => `--resource-pattern-type prefixed --${resource} rollcall.`;

interface Loss {
  readonly takes: string;
  /** Settings under which the tenant begins again: a session that runs already does not use the right. */
  readonly beginsWith?: Readonly<Record<string, unknown>>;
}

it.runIf(IS_FULL).each<[right: string, Loss]>([
  [`Write on the topics ${TOPICS.join(', ')}`, { takes: acl(prefixed('topic'), 'Write') }],
  [
    `Describe, Read, Write on the topics ${TOPICS.join(', ')}`,
    { takes: acl(prefixed('topic'), 'Describe', 'Read', 'Write') },
  ],
  ['Write on the transactional id rollcall.north', { takes: acl(prefixed('transactional-id'), 'Write') }],
  [
    'Read on the group rollcall.workers',
    { takes: acl(prefixed('group'), 'Read'), beginsWith: { incrementalEvery: '503ms' } },
  ],
  [
    `Read on the topics ${TOPICS.join(', ')}`,
    { takes: acl(prefixed('topic'), 'Read'), beginsWith: { incrementalEvery: '501ms' } },
  ],
  [
    `DescribeConfigs on the topics ${TOPICS.join(', ')}`,
    { takes: acl(prefixed('topic'), 'DescribeConfigs'), beginsWith: { incrementalEvery: '502ms' } },
  ],
  [
    'Create on the topic rollcall.north.courses',
    { takes: acl(prefixed('topic'), 'Create'), beginsWith: { collections: ['orgs', 'courses'] } },
  ],
])(
  'process and "check" name a missing Kafka right, and the remedy of "check" is enough (case %$)',
  async (right, { takes, beginsWith }) => {
    await world.grantAsDocumented();
    await using run = await world.run();
    await world.take(takes);
    if (beginsWith !== undefined) world.beginAgain(run, beginsWith);
    await world.losesAndRegains(run, right, beginsWith);
  },
);

it.runIf(IS_FULL)('a Kafka user that may read and write topics needs no right to describe them', async () => {
  await world.grantAsDocumented();
  await world.take(acl(prefixed('topic'), 'Describe'));
  expect(await world.check()).toEqual([]);
  await using run = await world.run();
  world.changeRow();
  await world.isPublished(run);
});
