import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import type { Answer, Parameters } from './hub-client.ts';
import { ROSTERING, SCHEDULES, USERS, scan, startTestHub } from './hub-client.ts';

const test = await startTestHub();
afterAll(() => test[Symbol.asyncDispose]());
const { district } = test.hub;
const all = district.ids('users');
const STUDENTS = "roles.role='student'";
const [classId = ''] = district.ids('classes');
const ORGS = `${ROSTERING}/orgs`;
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

const selections: [filter: string, ids: readonly string[]][] = [
  ['', all],
  [STUDENTS, district.ids('students')],
];
const begins = fc.oneof(fc.nat(all.length + 5), fc.constantFrom('', 'zzz', classId, ...all));
const MEANINGLESS = { offset: 50, sort: 'nonsense', orderBy: 'sideways', colour: 'blue' };

it('the reference hub returns each row of a filter once, in order, by offset or cursor (spec 4.3)', async () => {
  const limits = fc.integer({ min: 20, max: all.length + 1 });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...selections), begins, limits, async ([filter, ids], begin, limit) => {
      const isCursor = typeof begin === 'string';
      const from = isCursor ? { ...MEANINGLESS, afterSourcedId: begin } : { offset: begin };
      const page = await test.get(USERS, { filter, limit, ...from });
      const rest = isCursor ? ids.filter((id) => id > begin) : ids.slice(begin);
      expect(page).toMatchObject({ status: 200, ids: rest.slice(0, limit), total: String(ids.length) });
      const follows = isCursor ? page.ids.at(-1) : begin + limit;
      const next = rest.length > limit ? { next: follows } : {};
      const last = Math.floor((ids.length - 1) / limit) * limit;
      const prev = begin === 0 ? {} : { prev: Math.max(0, Number(begin) - limit) };
      expect(placesOf(page)).toEqual({ first: 0, ...next, ...(isCursor ? {} : { last, ...prev }) });
      if (isCursor) expect(page.link).toMatch(/^(?!.*(sort=|orderBy=|offset=[1-9])).*colour=blue/);
      expect(await scan(test, page)).toEqual(rest);
    }),
    { numRuns: 40 },
  );
});

it.each([
  ["sourcedId='b'", 'b'],
  ["sourcedId>'a'", 'bc'],
  ["sourcedId>='b'", 'bc'],
  ["name='O''Hara skole'", 'a'],
  ["identifier='1' AND sourcedId>'a'", 'b'],
  ["dateLastModified>'2026-11-20T10:00:00.000Z'", 'bc'],
  ["dateLastModified>='2026-11-20T10:00:00Z'", 'abc'],
  ["dateLastModified>'2026-11-20T10:00:00.5Z'", 'c'],
  ["dateLastModified<'2026-11-20T11:00:00.200+01:00'", 'a'],
  ["name='nobody'", ''],
])('the filter %s returns and counts only the rows "%s"', async (filter, ids) => {
  expect(await test.get(ORGS, { filter })).toMatchObject({ ids: ids.split(''), total: String(ids.length) });
});

const day = '2026-11-16';
const filters = [
  'shoeSize>1',
  'name=Bakke',
  "name='a' and name='b'",
  "name='a' AND name='b' AND name='c'",
  "name='a'  AND  name='b'",
  "name=='a'",
  "name='it's'",
  "dateLastModified>'2026-13-45T00:00:00Z'",
  'name',
];
const times = [{}, { student: 'x' }, { student: 'x', from: day }, { student: 'x', from: 'a', to: 'b' }];
const numbers = [{ limit: 0 }, { limit: 'ten' }, { limit: -1 }, { offset: -1 }, { orderBy: 'up' }];
it.each<[status: number, code: string, path: string, ...Parameters[]]>([
  [404, 'unknownobject', '/nothing', {}],
  [404, 'unknownobject', `${ROSTERING}/classes/none/students`, {}],
  [404, 'unknownobject', `${ROSTERING}/afterschools/none/users`, {}],
  [400, 'invalid_selection_field', ORGS, { fields: 'sourcedId,shoeSize' }],
  [400, 'failure', USERS, ...numbers],
  [400, 'failure', SCHEDULES, ...times],
  [400, 'invalid_filter_field', ORGS, ...filters.map((filter) => ({ filter }))],
])(
  'the reference hub refuses an unknown request with $0 $1 (case %$)',
  async (status, code, path, ...parameters) => {
    const refused = { status, text: expect.stringContaining(code) };
    for (const each of parameters) expect([each, await test.get(path, each)]).toMatchObject([each, refused]);
  },
);
