import { expect, it } from 'vitest';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { idOf } from '../support/rows.ts';

const ENABLED = only({ classes: {}, users: {}, enrollments: {}, 'class-students': {} });
/** Records have these in keys, requests in paths. */
const UNUSUAL_IDS = ['a|b', 'a%7Cb', 'a/b?c', 'æ ø', '%'];

function enrol({ hub }: Mirror, classId: string, user: string): void {
  hub.district.put('enrollments', {
    sourcedId: `${classId}:${user}:student`,
    status: 'active',
    role: 'student',
    primary: 'false',
    user: { sourcedId: user, type: 'user', href: 'x' },
    class: { sourcedId: classId, type: 'class', href: 'x' },
  });
}

it('class-students have the sorted students of each class, and one record for each class that changes', async () => {
  await using mirror = await openMirror({
    collections: ENABLED,
    hubOptions: {
      students: 40,
      faults: ['clamp-limit=7@class-students', 'no-link@class-students', 'not-offered@classes'],
    },
  });
  const { district, faults } = mirror.hub;
  const [first = '', second = ''] = district.ids('students');
  for (const id of UNUSUAL_IDS) {
    district.put('classes', { sourcedId: id, title: id });
    for (const student of [second, first]) enrol(mirror, id, student);
  }
  const failed = (await mirror.attempt('FULL')).filter(({ error }) => error !== null);
  expect(failed.map(({ collection, error }) => [collection, error])).toMatchObject([
    ['classes', { code: 'HUB_NOT_OFFERED' }],
    ['class-students', { code: 'HUB_NOT_OFFERED' }],
  ]);
  await mirror.attempt('FULL');
  expect(mirror.statusText()).toContain('the hub does not offer classes, class-students');
  expect(mirror.logLines.filter((line) => /"warn".*does not offer/.test(line))).toHaveLength(2);
  faults.clear();
  faults.set('clamp-limit=7@class-students');
  await mirror.full();
  expect(mirror.statusText()).not.toContain('does not offer');
  expect(await mirror.differences('classes', 'class-students')).toEqual({});
  const view = await mirror.view('class-students');
  expect(view.get('a|b')?.value).toEqual({ classId: 'a|b', students: [first, second].toSorted() });

  const [joined = '', left = '', gone = ''] = district
    .ids('classes')
    .filter((id) => district.studentsOfClass(id).length > 2);
  const outsider = district.ids('students').find((id) => !district.studentsOfClass(joined).includes(id));
  const leaving = district
    .snapshot('enrollments')
    .find((row) => row['role'] === 'student' && idOf(row['class'] as object) === left);
  const before = await mirror.ends();
  enrol(mirror, joined, outsider ?? '');
  district.remove('enrollments', idOf(leaving));
  district.remove('classes', gone);
  await mirror.full();
  const published = (await mirror.since(before)).filter(({ topic }) => topic.endsWith('.class-students'));
  expect(published.map(({ key, headers }) => `${key} ${headers['ce_type']}`).toSorted()).toEqual(
    [
      `${joined} rollcall.class-students.updated`,
      `${left} rollcall.class-students.updated`,
      `${gone} rollcall.class-students.deleted`,
    ].toSorted(),
  );
  expect(await mirror.differences('class-students')).toEqual({});
});

it('afterschool-users have keys of two parts, and lose no row by an empty list or a configuration', async () => {
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
