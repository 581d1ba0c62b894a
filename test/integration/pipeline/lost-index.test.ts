import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { caughtUp } from './redis-copy.ts';

it('without Redis a restart rebuilds the index from the topics and publishes nothing', async () => {
  await using mirror = await openMirror({ collections: ['users', 'orgs'], inMemory: true });
  await mirror.full();
  const ends = await mirror.ends();
  await mirror.restart();
  expect([...caughtUp(mirror).values()]).toEqual(['rebuilt', 'rebuilt']);
  expect(await mirror.problemsOfIndex('users')).toEqual([]);
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
});
