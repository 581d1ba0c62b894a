import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestHub } from './hub-client.ts';
import { ABSENCES, GRADEBOOK, ROSTERING, startTestHub } from './hub-client.ts';

const ORGS = `${ROSTERING}/orgs`;

describe('filter (spec 4.2 and the standard’s grammar)', () => {
  let test: TestHub;
  beforeAll(async () => {
    test = await startTestHub({ students: 20 });
    const { district } = test.hub;
    for (const id of district.ids('orgs')) district.remove('orgs', id);
    const put = (id: string, row: Record<string, string>): void => {
      district.put('orgs', {
        sourcedId: id,
        status: 'active',
        type: 'school',
        identifier: '1',
        ...row,
        parent: { sourcedId: 'top', type: 'org', href: 'x' },
      });
    };
    put('a', { name: "O'Hara skole", dateLastModified: '2026-11-20T10:00:00.000Z' });
    put('b', { name: 'Bakke', dateLastModified: '2026-11-20T10:00:00.500Z' });
    put('c', { name: 'Cirkel', identifier: '2', dateLastModified: '2026-11-20T10:00:01.000Z' });
  });
  afterAll(() => test[Symbol.asyncDispose]());

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
    ["dateLastModified='2026-11-20T10:00:01Z'", 'c'],
    ["name='nobody'", ''],
  ])('%s gives exactly the rows "%s"', async (filter, ids) => {
    const page = await test.get(ORGS, { filter });
    expect(page.status).toBe(200);
    expect(page.ids.join('')).toBe(ids);
    expect(page.headers.get('x-total-count')).toBe(String(ids.length));
  });

  it.each([
    'shoeSize>1',
    "shoeSize='1'",
    'name=Bakke',
    "name='a' and name='b'",
    "name='a' AND name='b' AND name='c'",
    "name='a'  AND  name='b'",
    "name=='a'",
    "name='it's'",
    "dateLastModified>'yesterday'",
    "dateLastModified>'2026-13-45T00:00:00Z'",
    'name',
  ])('%s is refused with invalid_filter_field', async (filter) => {
    const page = await test.get(ORGS, { filter });
    expect(page.status).toBe(400);
    expect(page.text).toContain('invalid_filter_field');
  });

  it('a path leads into arrays', async () => {
    const school = test.hub.district.snapshot('students')[0]!['primaryOrg'] as { sourcedId: string };
    const page = await test.get(`${ROSTERING}/users`, {
      filter: `roles.org.sourcedId='${school.sourcedId}' AND roles.role='student'`,
      limit: 500,
    });
    expect(page.ids).toEqual(test.hub.district.ids('students'));
  });

  it('numbers and booleans need no quotes', async () => {
    const results = test.hub.district.snapshot('results');
    const good = results.filter((row) => Number(row['score']) >= 5).map((row) => row['sourcedId']);
    expect(good.length).toBeGreaterThan(0);
    expect((await test.get(`${GRADEBOOK}/results`, { filter: 'score>=5', limit: 1000 })).ids).toEqual(good);
    const late = results.filter((row) => row['late'] === 'true').map((row) => row['sourcedId']);
    expect((await test.get(`${GRADEBOOK}/results`, { filter: 'late=true', limit: 1000 })).ids).toEqual(late);
  });

  it('a filter sees a change that came after its last use', async () => {
    const filter = "dateLastModified>'2026-11-20T10:59:00.000Z'";
    const before = await test.get(ABSENCES, { filter });
    const student = test.hub.district.ids('students')[0]!;
    const id = test.hub.district.registerAbsence({
      student,
      fromTime: '2026-11-20T08:00:00Z',
      toTime: '2026-11-20T09:00:00Z',
    });
    const after = await test.get(ABSENCES, { filter });
    expect([before.ids, after.ids]).toEqual([[], [id]]);
  });

  it('fields selects, and refuses a field that the collection does not have', async () => {
    const page = await test.get(ORGS, { fields: 'sourcedId,name' });
    expect(Object.keys(page.rows[0]!).toSorted()).toEqual(['name', 'sourcedId']);
    const refused = await test.get(ORGS, { fields: 'sourcedId,shoeSize' });
    expect([refused.status, refused.text.includes('invalid_selection_field')]).toEqual([400, true]);
  });
});
