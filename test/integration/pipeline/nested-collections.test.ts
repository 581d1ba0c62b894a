import { expect, it } from 'vitest';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';

/** Records have these in keys, requests in paths. */
const UNUSUAL_IDS = ['a|b', 'a%7Cb', 'a/b?c', 'æ ø', '%'];

it('afterschool-users have keys of two parts, and an empty list or a changed configuration removes none', async () => {
  const hub = await startTestHub({ size: { studentsPerSchool: 15 } });
  await using _ = { [Symbol.asyncDispose]: () => hub.stop() };
  const { district, faults } = hub;
  const [one = '', two = ''] = district.afterschoolIds();
  const rowsOf = (id: string): number => district.snapshot(`afterschool-users/${id}`).length;
  for (const id of UNUSUAL_IDS) {
    district.put('users', { sourcedId: id, givenName: id });
    district.joinAfterschool(one, id);
  }
  for (const id of district.ids('users').slice(0, 30)) district.joinAfterschool(two, id);
  const options = { hub, collections: ['afterschool-users'], hubSettings: { pageSize: 5 } };
  const keysIn = async (mirror: Mirror): Promise<string[]> => [
    ...(await mirror.view('afterschool-users')).keys(),
  ];

  await using mirror = await openMirror({ ...options, afterschools: ['no-such-programme', one] });
  await mirror.full();
  const keys = await keysIn(mirror);
  expect(keys).toHaveLength(rowsOf(one));
  expect(keys).toEqual(
    expect.arrayContaining([`${one}|a%7Cb`, `${one}|a%257Cb`, `${one}|%25`, `${one}|æ ø`]),
  );
  const before = await mirror.ends();
  district.leaveAfterschool(one, 'a|b');
  await mirror.full();
  expect((await mirror.since(before)).map(({ key, value }) => [key, value])).toEqual([
    [`${one}|a%7Cb`, null],
  ]);
  const left = await mirror.ends();
  faults.set('empty-list@afterschool-users');
  await mirror.full();
  expect(await mirror.ends()).toEqual(left);
  faults.clear();

  // Named before the known one, with more rows, it is not mistaken for another tenant's.
  const { topicPrefix } = mirror;
  await using grown = await openMirror({ ...options, afterschools: [two, one], topicPrefix });
  expect((await grown.full()).get('afterschool-users')).toMatchObject({ kind: 'complete', rowsOnHold: 0 });
  expect(await grown.differences()).toEqual({});
  await using shrunk = await openMirror({ ...options, afterschools: [one], topicPrefix });
  // Half of the known rows or more: a person decides.
  expect((await shrunk.full()).get('afterschool-users')).toMatchObject({ rowsOnHold: rowsOf(two) });
  expect(await keysIn(shrunk)).toHaveLength(rowsOf(one) + rowsOf(two));
});
