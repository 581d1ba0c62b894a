import { afterAll, beforeEach, expect, it } from 'vitest';
import { acl, RightsWorld } from './support/rights-world.ts';

const world = await RightsWorld.start();
beforeEach(() => world.grantAsDocumented());
afterAll(() => world[Symbol.asyncDispose]());

const TOPICS = 'rollcall.north.orgs, rollcall.north.progress, rollcall.north.rejects';

const prefixed = (resource: string): string => `--resource-pattern-type prefixed --${resource} rollcall.`;

interface Loss {
  readonly takes: string;
  /** Settings under which the tenant begins again: a session that runs already does not use the right. */
  readonly beginsWith?: Readonly<Record<string, unknown>>;
}

it.each<[right: string, Loss]>([
  [`Write on the topics ${TOPICS}`, { takes: acl(prefixed('topic'), 'Write') }],
  [
    `Describe, Read, Write on the topics ${TOPICS}`,
    { takes: acl(prefixed('topic'), 'Describe', 'Read', 'Write') },
  ],
  ['Write on the transactional id rollcall.north', { takes: acl(prefixed('transactional-id'), 'Write') }],
  [
    `Read on the topics ${TOPICS}`,
    { takes: acl(prefixed('topic'), 'Read'), beginsWith: { incrementalEvery: '501ms' } },
  ],
  [
    `DescribeConfigs on the topics ${TOPICS}`,
    { takes: acl(prefixed('topic'), 'DescribeConfigs'), beginsWith: { incrementalEvery: '502ms' } },
  ],
  [
    'Create on the topic rollcall.north.courses',
    { takes: acl(prefixed('topic'), 'Create'), beginsWith: { collections: ['orgs', 'courses'] } },
  ],
])(
  'process and "check" name a missing Kafka right, and the remedy of "check" is enough: %s',
  async (right, { takes, beginsWith }) => {
    await using run = await world.run();
    await world.take(takes);
    if (beginsWith !== undefined) world.beginAgain(run, beginsWith);
    await world.losesAndRegains(run, right, beginsWith);
  },
);

it('a Kafka user that may read and write topics needs no separate right to describe the topics', async () => {
  await world.take(acl(prefixed('topic'), 'Describe'));
  expect(await world.check()).toEqual([]);
  await using run = await world.run();
  world.changeRow();
  await world.isPublished(run);
});
