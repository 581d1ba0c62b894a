import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestHub } from './hub-client.ts';
import { ROSTERING, startTestHub } from './hub-client.ts';

describe('control API', () => {
  let test: TestHub;
  beforeAll(async () => {
    test = await startTestHub({ students: 30 });
  });
  afterAll(() => test[Symbol.asyncDispose]());
  const call = async (...calls: [name: string, ...given: unknown[]][]): Promise<unknown[]> => {
    const named = calls.map(([name, ...given]) => ({ do: name, with: given }));
    return ((await test.control('district', { calls: named })).body as { results: unknown[] }).results;
  };

  it('state gives counts, clock, faults and whether the district is frozen', async () => {
    const state = await test.control('state');
    expect(state.body).toMatchObject({
      frozen: true,
      faults: [],
      counts: { students: 30, absences: expect.any(Number) },
    });
  });

  it('put, patch and delete take effect', async () => {
    expect(await call(['put', 'orgs', { sourcedId: 'x1', name: 'Ny skole' }])).toEqual(['x1']);
    expect(test.hub.district.get('orgs', 'x1')).toMatchObject({ name: 'Ny skole' });
    const stamped = test.hub.district.get('orgs', 'x1')!['dateLastModified'];
    await test.control('clock', { advanceMs: 5000 });
    await call(['patch', 'orgs', 'x1', { name: 'Nyere' }, { stamp: false }]);
    expect(test.hub.district.get('orgs', 'x1')).toEqual({
      sourcedId: 'x1',
      dateLastModified: stamped,
      name: 'Nyere',
    });
    await call(['patch', 'orgs', 'x1', { name: 'Nyest' }]);
    expect(test.hub.district.get('orgs', 'x1')!['dateLastModified']).not.toBe(stamped);
    expect(await call(['remove', 'orgs', 'x1'], ['remove', 'orgs', 'x1'])).toEqual([true, false]);
    expect(test.hub.district.get('orgs', 'x1')).toBeUndefined();
  });

  it('a row without an id, or with an odd one, is served as it is', async () => {
    await call(
      ['put', 'orgs', { sourcedId: null, name: 'uten' }, { id: '0000-a' }],
      ['put', 'orgs', { sourcedId: 17, dateLastModified: 'i går' }, { id: '0000-b' }],
    );
    const page = await test.get(`${ROSTERING}/orgs`, { limit: 2 });
    expect(page.rows).toMatchObject([
      { sourcedId: null, name: 'uten' },
      { sourcedId: 17, dateLastModified: 'i går' },
    ]);
    await call(['remove', 'orgs', '0000-a'], ['remove', 'orgs', '0000-b']);
  });

  it('absences are registered, replaced, deleted and purged', async () => {
    const student = test.hub.district.ids('students')[0]!;
    const times = { fromTime: '2026-11-20T07:30:00Z', toTime: '2026-11-20T08:15:00Z' };
    expect(
      await call(
        ['registerAbsence', { student, ...times, id: 'a1' }],
        ['replaceAbsence', 'a1', { newId: 'a2' }],
        ['deleteAbsence', 'a2'],
      ),
    ).toEqual(['a1', 'a2', null]);
    expect(test.hub.district.get('absence-versions', 'a2')).toHaveProperty('deletedTime');
    expect(await call(['purgeAbsence', 'a1'])).toEqual([['a1', 'a2']]);
  });

  it('a snapshot holds all rows of every page, with faults and without', async () => {
    const paged = await test.get(`${ROSTERING}/users`, { limit: 10_000 });
    expect((await test.control('snapshot/users')).rows).toEqual(paged.rows);
    await test.control('faults', { set: [{ name: 'real-booleans', collection: 'users' }] });
    expect((await test.control('snapshot/users')).rows[0]!['enabledUser']).toBe(true);
    expect((await test.control('snapshot/users?faults=false')).rows).toEqual(paged.rows);
    const cleared = await test.control('faults', { clear: true });
    expect(cleared.body).toEqual({ faults: [] });
  });

  it('members of an afterschool programme come and go', async () => {
    const [afterschool] = test.hub.district.afterschoolIds();
    const path = `${ROSTERING}/afterschools/${afterschool}/users`;
    const before = (await test.get(path)).ids;
    const user = test.hub.district.ids('students').find((id) => !before.includes(id))!;
    expect(await call(['joinAfterschool', afterschool, user])).toEqual([true]);
    expect((await test.get(path)).ids).toEqual([...before, user].toSorted());
    expect((await test.control(`snapshot/afterschool-users/${afterschool}`)).ids).toEqual(
      [...before, user].toSorted(),
    );
    test.hub.district.remove('users', user);
    expect((await test.get(path)).ids).toEqual(before);
  });

  it('step, freeze and requests report what they did', async () => {
    const stepped = await test.control('step', { changes: 12 });
    const happened = Object.values(stepped.body as Record<string, number>);
    expect(happened.reduce((sum, count) => sum + count, 0)).toBe(12);
    expect((await test.control('unfreeze', {})).body).toEqual({ frozen: false });
    expect((await test.control('freeze', {})).body).toEqual({ frozen: true });
    await test.control('requests/clear', {});
    await test.get(`${ROSTERING}/courses`, { limit: 1 });
    const requests = await test.control('requests');
    expect(requests.body).toMatchObject({ counts: { courses: { '200': 1 } } });
    expect(requests.text).not.toContain('Bearer');
  });

  it.each([
    ['district', { calls: [{ do: 'nonsense' }] }, 400],
    ['district', { calls: ['nonsense'] }, 400],
    ['district', { calls: [{ do: 'put', with: ['nowhere', {}] }] }, 400],
    ['district', { calls: [{ do: 'put', with: ['orgs'] }] }, 400],
    ['district', { calls: [{ do: 'deleteAbsence', with: ['nobody'] }] }, 400],
    ['snapshot/nowhere', undefined, 404],
    ['faults', { set: ['nonsense'] }, 400],
    ['nonsense', {}, 404],
  ])('%s %o is refused with a reason, not with 500', async (path, body, status) => {
    const refused = await test.control(path, body);
    expect(refused.status).toBe(status);
    expect((refused.body as { imsx_description: string }).imsx_description.length).toBeGreaterThan(10);
  });
});
