import { afterAll, expect, it } from 'vitest';
import { withOther } from '../../simulation/parts/with-other.ts';
import { openMirror } from '../support/mirror.ts';
import { caughtUp, copyRedis } from './redis-copy.ts';

const OPTIONS = { collections: ['users', 'orgs'] } as const;

/** All tests of Redis share one tenant. */
let isDying = false;
const mirror = await openMirror({
  ...OPTIONS,
  parts: ({ state }) => ({
    state: withOther(state, {
      collection: (name) => {
        const index = state.collection(name);
        return withOther(index, {
          apply: async (...changes) => {
            if (isDying) throw new Error('the process ends');
            await index.apply(...changes);
          },
        });
      },
    }),
  }),
});
afterAll(() => mirror[Symbol.asyncDispose]());
await mirror.full();

it('if a process ends between commit and index write, the index catches up and no record comes twice', async () => {
  const ends = await mirror.ends();
  const [, id = ''] = mirror.hub.district.ids('users');
  mirror.hub.district.patch('users', id, { givenName: 'Somebody Else' });
  isDying = true;
  const [failed] = await mirror.attempt('FULL', 'users');
  isDying = false;
  expect(failed?.error).toMatchObject({ message: 'the process ends' });
  await mirror.restart();
  expect(caughtUp(mirror).get('users')).toBe('resumed');
  expect(await mirror.problemsOfIndex('users')).toEqual([]);
  await mirror.full();
  expect((await mirror.since(ends)).map(({ key }) => key)).toEqual([id]);
});

it('a value that changes and changes back is published each time, although Redis was restored meanwhile', async () => {
  const { district } = mirror.hub;
  const [id = ''] = district.ids('users');
  const row = { sourcedId: 'just-for-a-while', name: 'Just for a while', type: 'school' };
  district.put('orgs', row);
  district.patch('users', id, { givenName: 'A' });
  await mirror.full();
  const ends = await mirror.ends();
  const atA = await copyRedis(mirror.topicPrefix);
  district.patch('users', id, { givenName: 'B' });
  district.remove('orgs', row.sourcedId);
  await mirror.full();
  await atA.restore();
  district.patch('users', id, { givenName: 'A' });
  // The running process does not decide on it.
  const [failed] = await mirror.attempt('INCREMENTAL', 'users');
  expect(failed?.error).toMatchObject({ code: 'INDEX_DIVERGED' });
  await mirror.restart();
  expect([...caughtUp(mirror).values()]).toEqual(['resumed', 'resumed']);
  expect(await mirror.problemsOfIndex('users')).toEqual([]);
  await mirror.full();
  district.put('orgs', row);
  await mirror.incremental();
  const published = (await mirror.since(ends)).map(({ key, value }) => [
    key,
    value && (value['givenName'] ?? value['name']),
  ]);
  expect(published.filter(([key]) => key === id)).toEqual([
    [id, 'B'],
    [id, 'A'],
  ]);
  // A published removal is not repeated.
  expect(published.filter(([key]) => key !== id)).toEqual([
    [row.sourcedId, null],
    [row.sourcedId, row.name],
  ]);
  expect(await mirror.differences()).toEqual({});
});

it('without Redis a restart rebuilds the index from the topics and publishes nothing', async () => {
  await using mirror = await openMirror({ ...OPTIONS, inMemory: true });
  await mirror.full();
  const ends = await mirror.ends();
  await mirror.restart();
  expect([...caughtUp(mirror).values()]).toEqual(['rebuilt', 'rebuilt']);
  expect(await mirror.problemsOfIndex('users')).toEqual([]);
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
});
