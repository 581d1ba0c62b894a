import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestHub } from './hub-client.ts';
import { ABSENCES, ROSTERING, startTestHub, scan } from './hub-client.ts';

const USERS = `${ROSTERING}/users`;

describe('paging (spec 4.2, 4.3)', () => {
  let test: TestHub;
  let all: string[];
  beforeAll(async () => {
    test = await startTestHub();
    all = test.hub.district.ids('users');
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it('4.2: a request without limit gives 100 rows', async () => {
    const page = await test.get(USERS);
    expect(page.ids).toEqual(all.slice(0, 100));
  });

  it('4.3 rule 1: offset pages neither skip nor repeat a row, and the last one is short', async () => {
    const seen: string[] = [];
    for (let offset = 0; ; offset += 70) {
      const page = await test.get(USERS, { limit: 70, offset });
      seen.push(...page.ids);
      if (page.ids.length < 70) break;
    }
    expect(seen).toEqual(all);
  });

  it('4.3 rule 2: keyset pages neither skip nor repeat a row', async () => {
    const seen: string[] = [];
    for (;;) {
      const after = seen.at(-1);
      const page = await test.get(
        USERS,
        after === undefined ? { limit: 50 } : { limit: 50, afterSourcedId: after },
      );
      seen.push(...page.ids);
      if (page.ids.length < 50) break;
    }
    expect(seen).toEqual(all);
    expect(seen).toEqual([...new Set(seen)].toSorted());
  });

  it('4.3 rule 3: beside a cursor, offset, sort and orderBy change nothing, not even when they are nonsense', async () => {
    const plain = await test.get(USERS, { limit: 5, afterSourcedId: all[9]! });
    const noisy = await test.get(USERS, {
      limit: 5,
      afterSourcedId: all[9]!,
      offset: 50,
      sort: 'nonsense',
      orderBy: 'sideways',
    });
    expect(noisy.ids).toEqual(all.slice(10, 15));
    expect(noisy.text).toBe(plain.text);
    expect(noisy.links['next']).not.toContain('sort');
  });

  it('4.3 rule 3: without a cursor, sort and orderBy order the rows', async () => {
    const rows = test.hub.district.snapshot('users').map((row) => row['username'] as string);
    const ascending = await test.get(USERS, { limit: 5, sort: 'username' });
    const descending = await test.get(USERS, { limit: 5, sort: 'username', orderBy: 'desc' });
    expect(ascending.rows.map((row) => row['username'])).toEqual(rows.toSorted().slice(0, 5));
    expect(descending.rows.map((row) => row['username'])).toEqual(rows.toSorted().toReversed().slice(0, 5));
  });

  it('4.3 rule 4: the filter stays from page to page', async () => {
    const first = await test.get(USERS, { limit: 7, filter: "roles.role='student'" });
    expect(first.links['next']).toContain('filter=');
    expect(await scan(test, first)).toEqual(test.hub.district.ids('students'));
  });

  it('4.3 rule 5: an id of another collection is a cursor, too: it gives what sorts after that text', async () => {
    const wrongTenant = test.hub.district.ids('classes')[3]!;
    const page = await test.get(USERS, { limit: 1000, afterSourcedId: wrongTenant });
    expect(page.ids).toEqual(all.filter((id) => id > wrongTenant));
    expect((await test.get(USERS, { afterSourcedId: 'zzz' })).ids).toEqual([]);
  });

  it('4.3 rule 6: X-Total-Count stays the same from page to page, and counts what the filter matches', async () => {
    const total = (page: { headers: Headers }): number => Number(page.headers.get('x-total-count'));
    expect(total(await test.get(USERS, { limit: 5 }))).toBe(all.length);
    expect(total(await test.get(USERS, { limit: 5, afterSourcedId: all[100]! }))).toBe(all.length);
    expect(total(await test.get(USERS, { limit: 5, offset: 20 }))).toBe(all.length);
    const filtered = await test.get(USERS, {
      limit: 5,
      filter: "roles.role='student'",
      afterSourcedId: all[100]!,
    });
    expect(total(filtered)).toBe(60);
  });

  it('4.3 rule 8: keyset pages offer first and next, never prev and last, and next only when rows follow', async () => {
    const first = await test.get(USERS, { limit: 100 });
    expect(Object.keys(first.links).toSorted()).toEqual(['first', 'next']);
    const start = new URL(first.links['first']!);
    expect([start.searchParams.get('offset'), start.searchParams.has('afterSourcedId')]).toEqual([
      '0',
      false,
    ]);
    expect(new URL(first.links['next']!).searchParams.get('afterSourcedId')).toBe(first.ids.at(-1));
    const exactlyAll = await test.get(USERS, { limit: all.length });
    expect(Object.keys(exactlyAll.links)).toEqual(['first']);
    expect(await scan(test, first)).toEqual(all);
  });

  it('4.3 rule 8: offset pages offer first, prev, next and last', async () => {
    const middle = await test.get(USERS, { limit: 50, offset: 50 });
    const offsets = Object.fromEntries(
      Object.entries(middle.links).map(([relation, url]) => [
        relation,
        Number(new URL(url).searchParams.get('offset')),
      ]),
    );
    expect(offsets).toEqual({
      first: 0,
      prev: 0,
      next: 100,
      last: Math.floor((all.length - 1) / 50) * 50,
    });
    const last = await test.getUrl(middle.links['last']!);
    expect(last.ids.at(-1)).toBe(all.at(-1));
    expect(last.links['next']).toBeUndefined();
    expect((await test.get(USERS, { limit: 50, offset: 0 })).links['prev']).toBeUndefined();
    expect(await scan(test, await test.get(USERS, { limit: 33, offset: 0 }))).toEqual(all);
  });

  it('2.3: a composite id survives the round trip through the next link', async () => {
    const first = await test.get(`${ROSTERING}/enrollments`, { limit: 200 });
    expect(first.ids[0]).toMatch(/^[\da-f-]{36}:[\da-f-]{36}:(student|teacher)$/);
    expect(await scan(test, first)).toEqual(test.hub.district.ids('enrollments'));
  });

  it('4.1: the students of a class ignore a cursor', async () => {
    const classId = test.hub.district.ids('classes')[0]!;
    const path = `${ROSTERING}/classes/${classId}/students`;
    const members = test.hub.district.studentsOfClass(classId);
    expect(members.length).toBeGreaterThan(5);
    const page = await test.get(path, { limit: 4, afterSourcedId: members[3]! });
    expect(page.ids).toEqual(members.slice(0, 4));
    expect(page.links).toHaveProperty('last');
    expect(await scan(test, page)).toEqual(members);
  });

  it.each([{ limit: 0 }, { limit: 'ten' }, { limit: -1 }, { offset: -1 }, { orderBy: 'up' }])(
    '7: %o is refused with 400 in the shape of the standard',
    async (parameters) => {
      const refused = await test.get(USERS, parameters);
      expect(refused.status).toBe(400);
      expect(refused.body).toMatchObject({ imsx_codeMajor: 'failure', imsx_severity: 'error' });
    },
  );

  it('an unknown parameter is accepted and kept in the links', async () => {
    const page = await test.get(USERS, { limit: 3, colour: 'blue' });
    expect(page.status).toBe(200);
    expect(page.links['next']).toContain('colour=blue');
  });
});

describe('paging while the collection changes (spec 4.3 rule 7)', () => {
  it('a row inserted before the cursor is missing from the remaining pages, one inserted after it is not', async () => {
    await using test = await startTestHub();
    const first = await test.get(ABSENCES, { limit: 100 });
    const student = test.hub.district.ids('students')[0]!;
    const times = { student, fromTime: '2026-11-20T08:00:00Z', toTime: '2026-11-20T09:00:00Z' };
    test.hub.district.registerAbsence({ ...times, id: '0000-before' });
    test.hub.district.registerAbsence({ ...times, id: 'zzzz-after' });
    const seen = await scan(test, first);
    expect(seen).not.toContain('0000-before');
    expect(seen.at(-1)).toBe('zzzz-after');
    expect((await test.get(ABSENCES, { limit: 1 })).ids).toEqual(['0000-before']);
  });
});
