import { expect, it } from 'vitest';
import { openMirror, startTestHub } from '../support/mirror.ts';

/** Records have these in keys, requests in paths. */
const UNUSUAL_IDS = ['a|b', 'a%7Cb', 'a/b?c', 'æ ø', '%'];

it('a newly configured afterschool is mirrored, and the rows of a removed afterschool are on hold', async () => {
  await using hub = await startTestHub({ size: { studentsPerSchool: 15 } });
  const { district } = hub;
  const [one = '', two = ''] = district.afterschoolIds();
  const rowsOf = (id: string): number => district.snapshot(`afterschool-users/${id}`).length;
  for (const id of UNUSUAL_IDS) {
    district.put('users', { sourcedId: id, givenName: id });
    district.joinAfterschool(one, id);
  }
  for (const id of district.ids('users').slice(0, 30)) district.joinAfterschool(two, id);
  const options = { hub, collections: ['afterschool-users'], hubSettings: { pageSize: 5 } };
  await using mirror = await openMirror({ ...options, afterschools: [one] });
  await mirror.full();

  // Named before the known one, with more rows, it is not mistaken for another tenant's.
  const { topicPrefix } = mirror;
  await using grown = await openMirror({ ...options, afterschools: [two, one], topicPrefix });
  expect((await grown.full()).get('afterschool-users')).toMatchObject({ kind: 'complete', rowsOnHold: 0 });
  expect(await grown.differences()).toEqual({});
  await using shrunk = await openMirror({ ...options, afterschools: [one], topicPrefix });
  // Half of the known rows or more: a person decides.
  expect((await shrunk.full()).get('afterschool-users')).toMatchObject({ rowsOnHold: rowsOf(two) });
  expect((await shrunk.view('afterschool-users')).size).toBe(rowsOf(one) + rowsOf(two));
});
