import { afterAll, describe, expect, it } from 'vitest';
import type { Answer, Parameters } from './hub-client.ts';
import { ABSENCES, GRADEBOOK, ROSTERING, SCHEDULES, USERS, scan, startTestHub } from './hub-client.ts';

const test = await startTestHub();
afterAll(() => test[Symbol.asyncDispose]());
const { district } = test.hub;
const all = district.ids('users');
const STUDENTS = "roles.role='student'";
const [classId = ''] = district.ids('classes');
const members = district.studentsOfClass(classId);
const CLASS = `${ROSTERING}/classes/${classId}`;
const ORGS = `${ROSTERING}/orgs`;
const school = (district.snapshot('students')[0]!['primaryOrg'] as { sourcedId: string }).sourcedId;
const byUsername = (district.snapshot('users') as { sourcedId: string; username: string }[])
  .toSorted((a, b) => (a.username < b.username ? -1 : 1))
  .map(({ sourcedId }) => sourcedId);
const resultsWhere = (isOne: (row: Record<string, unknown>) => boolean): unknown[] =>
  district
    .snapshot('results')
    .filter(isOne)
    .map((row) => row['sourcedId']);

for (const id of district.ids('orgs')) district.remove('orgs', id);
for (const row of [
  { sourcedId: 'a', name: "O'Hara skole", dateLastModified: '2026-11-20T10:00:00.000Z' },
  { sourcedId: 'b', name: 'Bakke', dateLastModified: '2026-11-20T10:00:00.500Z' },
  { sourcedId: 'c', name: 'Cirkel', identifier: '2', dateLastModified: '2026-11-20T10:00:01.000Z' },
])
  district.put('orgs', { status: 'active', identifier: '1', parent: { sourcedId: 'top' }, ...row });

/** Relations of the links, with where they lead: an offset, or a cursor. */
function placesOf({ links }: Answer): object {
  const placeOf = (url: string): number | string | null => {
    const { searchParams } = new URL(url);
    return searchParams.get('afterSourcedId') ?? Number(searchParams.get('offset'));
  };
  return Object.fromEntries(Object.entries(links).map(([relation, url]) => [relation, placeOf(url)]));
}

describe('the reference hub gives the rows that the spec says', () => {
  it.each<[rule: string, path: string, Parameters, ids: readonly unknown[], places?: object]>([
    ['4.2: 100 without limit', USERS, {}, all.slice(0, 100), { first: 0, next: all[99] }],
    ['4.3.1: offset', USERS, { limit: 70, offset: 70 }, all.slice(70, 140)],
    ['4.3.1: the last page is short', USERS, { limit: 70, offset: all.length - 3 }, all.slice(-3)],
    [
      '4.3.2: cursor',
      USERS,
      { limit: 5, afterSourcedId: all[9]! },
      all.slice(10, 15),
      { first: 0, next: all[14] },
    ],
    [
      '4.3.3: a cursor makes offset, sort and orderBy mean nothing',
      USERS,
      { limit: 5, afterSourcedId: all[9]!, offset: 50, sort: 'nonsense', orderBy: 'sideways' },
      all.slice(10, 15),
      { first: 0, next: all[14] },
    ],
    ['4.3.3: sort', USERS, { limit: 5, sort: 'username' }, byUsername.slice(0, 5)],
    [
      '4.3.3: orderBy',
      USERS,
      { limit: 5, sort: 'username', orderBy: 'desc' },
      byUsername.toReversed().slice(0, 5),
    ],
    [
      '4.3.5: an id of another collection',
      USERS,
      { limit: 1000, afterSourcedId: classId },
      all.filter((id) => id > classId),
    ],
    ['4.3.5: a cursor beyond the end', USERS, { afterSourcedId: 'zzz' }, [], { first: 0 }],
    ['4.3.8: no next where nothing follows', USERS, { limit: all.length }, all, { first: 0 }],
    ['4.3.8: a last page that is full', USERS, { limit: all.length, offset: 0 }, all, { first: 0, last: 0 }],
    [
      '4.3.8: links of offset pages',
      USERS,
      { limit: 50, offset: 50 },
      all.slice(50, 100),
      { first: 0, prev: 0, next: 100, last: Math.floor((all.length - 1) / 50) * 50 },
    ],
    [
      '4.1: students of a class ignore a cursor',
      `${CLASS}/students`,
      { limit: 4, afterSourcedId: members[3]! },
      members.slice(0, 4),
    ],
    [
      'a path of a filter leads into arrays',
      USERS,
      { filter: `roles.org.sourcedId='${school}' AND ${STUDENTS}` },
      district.ids('students'),
    ],
    [
      'numbers need no quotes',
      `${GRADEBOOK}/results`,
      { filter: 'score>=5', limit: 1000 },
      resultsWhere((row) => Number(row['score']) >= 5),
    ],
    [
      'booleans need none',
      `${GRADEBOOK}/results`,
      { filter: 'late=true', limit: 1000 },
      resultsWhere((row) => row['late'] === 'true'),
    ],
  ])('%s', async (_, path, parameters, ids, places) => {
    const page = await test.get(path, parameters);
    expect(page).toMatchObject({ status: 200, ids });
    if (places !== undefined) expect(placesOf(page)).toEqual(places);
    if (parameters['sort'] === 'nonsense') expect(page.link).not.toMatch(/sort=|orderBy=|offset=[1-9]/);
  });

  it.each<[rule: string, path: string, Parameters, ids: readonly string[], total: number]>([
    ['4.3.8: cursors', USERS, { limit: 100 }, all, all.length],
    ['4.3.8: offsets', USERS, { limit: 33, offset: 0 }, all, all.length],
    ['4.3.4: a filter', USERS, { limit: 7, filter: STUDENTS }, district.ids('students'), 60],
    [
      '4.3.6: the total stays',
      USERS,
      { limit: 50, filter: STUDENTS, afterSourcedId: all[100]! },
      district.ids('students').filter((id) => id > all[100]!),
      60,
    ],
    [
      '2.3: composite ids',
      `${ROSTERING}/enrollments`,
      { limit: 200 },
      district.ids('enrollments'),
      district.ids('enrollments').length,
    ],
    ['4.1: students of a class', `${CLASS}/students`, { limit: 4 }, members, members.length],
    ['unknown parameters are kept', USERS, { limit: 90, colour: 'blue' }, all, all.length],
  ])('from page to page by rel="next": %s', async (_, path, parameters, ids, total) => {
    const first = await test.get(path, parameters);
    expect(first.total).toBe(String(total));
    expect(await scan(test, first)).toEqual(ids);
  });

  it.each([
    ["sourcedId='b'", 'b'],
    ["sourcedId!='b'", 'ac'],
    ["sourcedId>'a'", 'bc'],
    ["sourcedId>='b'", 'bc'],
    ["sourcedId<'b'", 'a'],
    ["sourcedId<='b'", 'ab'],
    ["name~'ak'", 'b'],
    ["name='O''Hara skole'", 'a'],
    ["parent.sourcedId='top'", 'abc'],
    ["identifier='1' AND sourcedId>'a'", 'b'],
    ["sourcedId='a' OR name='Cirkel'", 'ac'],
    ["dateLastModified>'2026-11-20T10:00:00.000Z'", 'bc'],
    ["dateLastModified>='2026-11-20T10:00:00Z'", 'abc'],
    ["dateLastModified>'2026-11-20T10:00:00.5Z'", 'c'],
    ["dateLastModified<'2026-11-20T11:00:00.200+01:00'", 'a'],
    ["name='nobody'", ''],
  ])('filter: %s gives exactly "%s", and counts them', async (filter, ids) => {
    expect(await test.get(ORGS, { filter })).toMatchObject({ ids: ids.split(''), total: String(ids.length) });
  });

  it('4.3.7: a row inserted before the cursor is missing from the pages that follow, one inserted after it is not, and a filter sees both', async () => {
    const first = await test.get(ABSENCES, { limit: 100 });
    const absence = {
      student: district.ids('students')[0]!,
      fromTime: '2026-11-20T08:00:00Z',
      toTime: '2026-11-20T09:00:00Z',
    };
    const filter = "dateLastModified>'2026-11-20T10:59:00.000Z'";
    expect((await test.get(ABSENCES, { filter })).ids).toEqual([]);
    for (const id of ['0000-before', 'zzzz-after']) district.registerAbsence({ ...absence, id });
    const seen = await scan(test, first);
    expect([seen.includes('0000-before'), seen.at(-1)]).toEqual([false, 'zzzz-after']);
    expect((await test.get(ABSENCES, { filter })).ids).toEqual(['0000-before', 'zzzz-after']);
  });
});

describe('the reference hub knows the addresses of the spec, and refuses what it does not know', () => {
  const paths = 'users students teachers orgs classes courses academicSessions enrollments'.split(' ');
  const ofGrades = 'lineItems categories results assessmentLineItems assessmentResults'.split(' ');
  it.each([
    ABSENCES,
    ABSENCES.replace('detail', 'summary'),
    ...paths.map((name) => `${ROSTERING}/${name}`),
    `${CLASS}/students`,
    `${ROSTERING}/afterschools/${district.afterschoolIds()[0]}/users`,
    ...ofGrades.map((name) => `${GRADEBOOK}/${name}`),
  ])('4.1: %s has rows', async (path) => {
    const page = await test.get(path, { limit: 2 });
    expect(page.rows.length).toBeGreaterThan(0);
    expect(page.date).toMatch(/^Fri, 20 Nov 2026 11:00:\d\d GMT$/);
  });

  it('4.1: a class has an address of its own, and fields selects', async () => {
    expect(JSON.parse((await test.get(CLASS)).text)).toMatchObject({ class: { sourcedId: classId } });
    expect((await test.get(ORGS, { fields: 'sourcedId,name', limit: 1 })).rows).toEqual([
      { sourcedId: 'a', name: "O'Hara skole" },
    ]);
    expect((await fetch(`${test.hub.baseUrl}${USERS}`, { method: 'POST' })).status).toBe(405);
  });

  const day = '2026-11-16';
  it.each<[status: number, code: string, path: string, ...Parameters[]]>([
    [404, 'unknownobject', '/nothing'],
    [404, 'unknownobject', `${ROSTERING}/classes/none`],
    [404, 'unknownobject', `${ROSTERING}/classes/none/students`],
    [404, 'unknownobject', `${ROSTERING}/afterschools/none/users`],
    [400, 'invalid_selection_field', ORGS, { fields: 'sourcedId,shoeSize' }],
    [400, 'failure', USERS, { limit: 0 }, { limit: 'ten' }, { limit: -1 }, { offset: -1 }, { orderBy: 'up' }],
    [
      400,
      'failure',
      SCHEDULES,
      {},
      { student: 'x' },
      { student: 'x', from: day },
      { student: 'x', from: 'a', to: 'b' },
    ],
    [
      400,
      'invalid_filter_field',
      ORGS,
      ...[
        'shoeSize>1',
        'name=Bakke',
        "name='a' and name='b'",
        "name='a' AND name='b' AND name='c'",
        "name='a'  AND  name='b'",
        "name=='a'",
        "name='it's'",
        "dateLastModified>'2026-13-45T00:00:00Z'",
        'name',
      ].map((filter) => ({ filter })),
    ],
  ])('%i %s for %s', async (status, code, path, ...parameters) => {
    for (const each of parameters.length === 0 ? [{}] : parameters)
      expect([each, await test.get(path, each)]).toMatchObject([
        each,
        { status, text: expect.stringContaining(code) },
      ]);
  });
});
