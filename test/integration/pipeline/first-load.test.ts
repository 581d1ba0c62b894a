import { expect, it } from 'vitest';
import { openMirror, startTestHub } from '../support/mirror.ts';
import { readTopics } from '../support/stack-kafka.ts';

it('the first load equals the hub in every collection, publishes each key once, and rejects nothing', async () => {
  await using hub = await startTestHub({ students: 40, seed: 3 });
  const { district } = hub;
  // Requests have the ids of classes in paths, records in keys.
  const [student] = district.ids('students');
  for (const id of ['a|b', 'a%7Cb', 'a/b?c', 'æ ø', '%']) {
    district.put('classes', { sourcedId: id, title: id });
    const [user, of] = [{ sourcedId: student }, { sourcedId: id }];
    district.put('enrollments', { sourcedId: `${id}:student`, role: 'student', user, class: of });
  }
  await using mirror = await openMirror({
    hub,
    // Schedules come from the Core API and have tests of their own.
    collections: { 'class-students': { enabled: true }, schedules: { enabled: false } },
    afterschools: district.afterschoolIds(),
    // Many pages.
    hubSettings: { pageSize: 100 },
  });
  await mirror.full();
  const collections = mirror.parts.collections.map(({ name }) => name);
  expect(collections).toHaveLength(17);
  expect(await mirror.differences()).toEqual({});
  const topics = [...collections, 'rejects'].map((name) => mirror.topic(name));
  const records = await readTopics(topics);
  expect(new Set(records.map(({ topic, key }) => `${topic} ${key}`)).size).toBe(records.length);
  expect(records.filter(({ topic }) => topic === mirror.topic('rejects'))).toEqual([]);
  // The comparison finds differences.
  const [id = ''] = district.ids('users');
  district.patch('users', id, { givenName: 'Somebody Else' });
  district.put('orgs', { sourcedId: 'one-more', name: 'One more' });
  expect(await mirror.differences()).toMatchObject({
    users: [expect.stringContaining(id)],
    orgs: ['one-more: missing from the topic'],
  });
});
