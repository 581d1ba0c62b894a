import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestHub } from './hub-client.ts';
import { ROSTERING, startTestHub } from './hub-client.ts';

describe('control API', () => {
  let test: TestHub;
  beforeAll(async () => {
    test = await startTestHub({ students: 30 });
  });
  afterAll(() => test[Symbol.asyncDispose]());
  const mutate = async (...operations: object[]): Promise<unknown[]> =>
    ((await test.control('mutate', { operations })).body as { results: unknown[] }).results;

  it('state gives counts, clock, faults and whether the district is frozen', async () => {
    const state = await test.control('state');
    expect(state.body).toMatchObject({
      frozen: true,
      speed: 1,
      faults: [],
      counts: { students: 30, absences: expect.any(Number) },
    });
  });

  it('put, patch and delete take effect', async () => {
    expect(
      await mutate({ op: 'put', collection: 'orgs', row: { sourcedId: 'x1', name: 'Ny skole' } }),
    ).toEqual([{ id: 'x1' }]);
    expect(test.hub.district.get('orgs', 'x1')).toMatchObject({ name: 'Ny skole' });
    const stamped = test.hub.district.get('orgs', 'x1')!['dateLastModified'];
    await test.control('clock', { advanceMs: 5000 });
    await mutate({ op: 'patch', collection: 'orgs', id: 'x1', fields: { name: 'Nyere' }, stamp: false });
    expect(test.hub.district.get('orgs', 'x1')).toEqual({
      sourcedId: 'x1',
      dateLastModified: stamped,
      name: 'Nyere',
    });
    await mutate({ op: 'patch', collection: 'orgs', id: 'x1', fields: { name: 'Nyest' } });
    expect(test.hub.district.get('orgs', 'x1')!['dateLastModified']).not.toBe(stamped);
    expect(
      await mutate(
        { op: 'delete', collection: 'orgs', id: 'x1' },
        { op: 'delete', collection: 'orgs', id: 'x1' },
      ),
    ).toEqual([{ deleted: true }, { deleted: false }]);
    expect(test.hub.district.get('orgs', 'x1')).toBeUndefined();
  });

  it('a row without an id, or with an odd one, is served as it is', async () => {
    await mutate(
      { op: 'put', collection: 'orgs', id: '0000-a', row: { sourcedId: null, name: 'uten' } },
      { op: 'put', collection: 'orgs', id: '0000-b', row: { sourcedId: 17, dateLastModified: 'i går' } },
    );
    const page = await test.get(`${ROSTERING}/orgs`, { limit: 2 });
    expect(page.rows).toMatchObject([
      { sourcedId: null, name: 'uten' },
      { sourcedId: 17, dateLastModified: 'i går' },
    ]);
    await mutate(
      { op: 'delete', collection: 'orgs', id: '0000-a' },
      { op: 'delete', collection: 'orgs', id: '0000-b' },
    );
  });

  it('absences are registered, replaced, deleted and purged', async () => {
    const student = test.hub.district.ids('students')[0]!;
    const times = { fromTime: '2026-11-20T07:30:00Z', toTime: '2026-11-20T08:15:00Z' };
    const [registered] = (await mutate({ op: 'register-absence', student, ...times, id: 'a1' })) as {
      id: string;
    }[];
    expect(registered).toEqual({ id: 'a1' });
    expect(
      await mutate({ op: 'replace-absence', id: 'a1', newId: 'a2' }, { op: 'delete-absence', id: 'a2' }),
    ).toEqual([{ id: 'a2' }, { deleted: true }]);
    expect(test.hub.district.get('absence-versions', 'a2')).toHaveProperty('deletedTime');
    expect(await mutate({ op: 'purge-absence', id: 'a1' })).toEqual([{ purged: ['a1', 'a2'] }]);
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
    expect(await mutate({ op: 'join-afterschool', afterschool, user })).toEqual([{ joined: true }]);
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
    ['mutate', { op: 'nonsense' }, 400],
    ['mutate', { op: 'put', collection: 'nowhere', row: {} }, 400],
    ['mutate', { op: 'delete-absence', id: 'nobody' }, 400],
    ['faults', { set: ['nonsense'] }, 400],
    ['nonsense', {}, 404],
  ])('%s %o is refused with a reason, not with 500', async (path, body, status) => {
    const refused = await test.control(path, body);
    expect(refused.status).toBe(status);
    expect((refused.body as { imsx_description: string }).imsx_description.length).toBeGreaterThan(10);
  });
});
