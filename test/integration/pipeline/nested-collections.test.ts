import { expect, it } from 'vitest';
import { openMirror, startTestHub } from '../support/mirror.ts';

it('a newly configured afterschool is mirrored, and is not mistaken for that of another tenant', async () => {
  await using hub = await startTestHub({ size: { studentsPerSchool: 15 } });
  const { district } = hub;
  const [one = '', two = ''] = district.afterschoolIds();
  for (const id of district.ids('users').slice(0, 30)) district.joinAfterschool(two, id);
  const options = { hub, collections: ['afterschool-users'], hubSettings: { pageSize: 5 } };
  await using mirror = await openMirror({ ...options, afterschools: [one] });
  await mirror.full();

  // It is named before the known one, and has more rows.
  const { topicPrefix } = mirror;
  await using grown = await openMirror({ ...options, afterschools: [two, one], topicPrefix });
  expect((await grown.full()).get('afterschool-users')).toMatchObject({ kind: 'complete', rowsOnHold: 0 });
  expect(await grown.differences()).toEqual({});
});
