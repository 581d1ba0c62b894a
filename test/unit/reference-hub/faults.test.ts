import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS } from '../../../reference-hub/server/faults/registry.ts';
import type { Answer, TestHub } from './hub-client.ts';
import { ABSENCES, GRADEBOOK, ROSTERING, startTestHub, scan } from './hub-client.ts';

const USERS = `${ROSTERING}/users`;
const STUDENTS_ONLY = "roles.role='student'";

let test: TestHub;
let all: string[];

const refused =
  (status: number, path = USERS, parameters: Record<string, string | number> = {}) =>
  async (): Promise<void> => {
    expect((await test.get(path, parameters)).status).toBe(status);
  };
const broken = async (): Promise<void> => {
  await expect(test.get(USERS)).rejects.toThrow(/fetch failed|terminated/);
};
const header = (name: string, value: string | null) => async (): Promise<void> => {
  const page = await test.get(USERS, { limit: 5, filter: STUDENTS_ONLY });
  expect([page.status, page.headers.get(name)]).toEqual([200, value]);
};
const seen =
  (check: (page: Answer) => void, path = USERS, parameters: Record<string, string | number> = {}) =>
  async (): Promise<void> => {
    check(await test.get(path, parameters));
  };
const row = (check: (row: Record<string, unknown>) => void, path = USERS): (() => Promise<void>) =>
  seen((page) => {
    check(page.rows[0]!);
  }, path);

/** What each fault does, as `spec: proof`; the other tests show that the hub behaves without it. */
const PROOFS: Record<string, () => Promise<void>> = {
  'latency=120': async () => {
    const startedAt = performance.now();
    await test.get(USERS);
    expect(performance.now() - startedAt).toBeGreaterThan(110);
  },
  reset: broken,
  'refuse-connection': broken,
  'slow-body=15': async () => {
    const startedAt = performance.now();
    expect((await test.get(USERS)).ids).toHaveLength(100);
    expect(performance.now() - startedAt).toBeGreaterThan(120);
  },
  'no-date': header('date', null),
  'error-rate=0.5': async () => {
    const statuses = await Promise.all(Array.from({ length: 60 }, () => test.get(USERS, { limit: 1 })));
    const failed = statuses.filter((page) => page.status >= 500).length;
    expect([failed > 10, failed < 50]).toEqual([true, true]);
  },
  'status=503': refused(503),
  'rate-limit=7': seen((page) => {
    expect([page.status, page.headers.get('retry-after'), page.headers.get('content-type')]).toEqual([
      429,
      '7',
      'text/html',
    ]);
  }),
  'html-error=502': seen((page) => {
    expect([page.status, page.text.startsWith('<!DOCTYPE html>')]).toEqual([502, true]);
  }),
  'not-offered@users': async () => {
    await refused(404)();
    await refused(200, `${ROSTERING}/orgs`)();
  },
  'token-expired-403': async () => {
    test.hub.tokens.revokeAll();
    await refused(403)();
    await test.newToken();
  },
  truncate: seen((page) => {
    expect([page.status, page.body]).toEqual([200, undefined]);
    expect(page.headers.get('content-length')).toBe(String(Buffer.byteLength(page.text)));
  }),
  'huge-response=3': seen((page) => {
    expect(page.text.length).toBeGreaterThan(3_000_000);
  }),
  'wrong-type': header('content-type', 'text/plain'),
  'clamp-limit=30': async () => {
    const page = await test.get(USERS, { limit: 50 });
    expect(page.ids).toEqual(all.slice(0, 30));
    expect(await scan(test, page)).toEqual(all);
    expect(await scan(test, await test.get(USERS, { limit: 50, offset: 0 }))).toEqual(all);
  },
  'no-link': header('link', null),
  'no-total': header('x-total-count', null),
  'zero-total': header('x-total-count', '0'),
  'unfiltered-total': async () => {
    await header('x-total-count', String(all.length))();
  },
  'remaining-total': async () => {
    const page = await test.get(USERS, { limit: 5, afterSourcedId: all[9]! });
    expect(page.headers.get('x-total-count')).toBe(String(all.length - 10));
  },
  'ignore-after': async () => {
    expect((await test.get(USERS, { limit: 5, afterSourcedId: all[50]! })).ids).toEqual(all.slice(0, 5));
  },
  'refuse-after': async () => {
    await refused(400, USERS, { afterSourcedId: 'x' })();
    expect((await test.get(USERS)).links).toEqual({});
    expect(await scan(test, await test.get(USERS, { offset: 0 }))).toEqual(all);
  },
  'refuse-unknown': async () => {
    await refused(400, USERS, { colour: 'blue' })();
    await refused(400, USERS, { afterSourcedId: 'x' })();
    await refused(200, USERS, {
      limit: 5,
      offset: 0,
      sort: 'sourcedId',
      orderBy: 'asc',
      filter: STUDENTS_ONLY,
      fields: 'sourcedId',
    })();
  },
  'refuse-lone-sort': async () => {
    await refused(400, USERS, { sort: 'sourcedId' })();
    await refused(200, USERS, { sort: 'sourcedId', orderBy: 'asc' })();
  },
  'one-clause': async () => {
    await refused(400, USERS, { filter: `${STUDENTS_ONLY} AND sourcedId>'a'` })();
    await refused(200, USERS, { filter: STUDENTS_ONLY })();
  },
  'ignore-filter': seen(
    (page) => {
      expect(page.ids).toEqual(all);
    },
    USERS,
    { limit: 1000, filter: STUDENTS_ONLY },
  ),
  'ignore-order': seen(
    (page) => {
      expect(page.ids).toEqual(all.slice(0, 100));
      expect(page.links).toHaveProperty('last');
    },
    USERS,
    { sort: 'username', orderBy: 'desc' },
  ),
  'next-past-end': async () => {
    const last = await test.get(USERS, { limit: 1000 });
    expect((await test.getUrl(last.links['next']!)).ids).toEqual([]);
    const byOffset = await test.get(USERS, { limit: 1000, offset: 0 });
    expect((await test.getUrl(byOffset.links['next']!)).ids).toEqual([]);
  },
  'foreign-link=http://127.0.0.2:9': seen((page) => {
    expect(page.links['next']).toMatch(/^http:\/\/127\.0\.0\.2:9\/north\/.*afterSourcedId=/);
  }),
  'relative-link': seen((page) => {
    expect(page.links['next']).toMatch(/^\/north\/ims\/.*afterSourcedId=/);
  }),
  'empty-list': seen((page) => {
    expect([page.status, page.text, page.headers.get('x-total-count')]).toEqual([200, '{"users":[]}', '0']);
  }),
  'missing-list': seen((page) => {
    expect([page.status, page.text]).toEqual([200, '{}']);
  }),
  'other-envelope=data': seen((page) => {
    expect([Object.keys(page.body ?? {}), page.ids.length]).toEqual([['data'], 100]);
  }),
  'empty-204': async () => {
    await refused(200)();
    const empty = await test.get(USERS, { filter: "sourcedId='nobody'" });
    expect([empty.status, empty.text, empty.headers.get('content-length')]).toEqual([204, '', null]);
  },
  'duplicate-rows': seen((page) => {
    expect(page.ids).toEqual([all[0], ...all.slice(0, 100)]);
  }),
  'skip-rows': seen((page) => {
    expect(page.ids).toEqual(all.slice(0, 100).filter((_, index) => index !== 50));
  }),
  'text-timestamps': async () => {
    // As text, a time without milliseconds sorts after the same one with them.
    const stamp = test.hub.district.get('orgs', test.hub.district.ids('orgs')[0]!)![
      'dateLastModified'
    ] as string;
    const filter = `dateLastModified<'${stamp.replace('.000Z', 'Z')}'`;
    expect((await test.get(`${ROSTERING}/orgs`, { filter })).ids.length).toBeGreaterThan(0);
    test.hub.faults.clear();
    expect((await test.get(`${ROSTERING}/orgs`, { filter })).ids).toEqual([]);
  },
  'hidden-microseconds': async () => {
    const stamp = test.hub.district.get('orgs', test.hub.district.ids('orgs')[0]!)![
      'dateLastModified'
    ] as string;
    const filter = `dateLastModified>'${stamp}'`;
    expect((await test.get(`${ROSTERING}/orgs`, { filter })).ids.length).toBeGreaterThan(0);
    test.hub.faults.clear();
    expect((await test.get(`${ROSTERING}/orgs`, { filter })).ids).toEqual([]);
  },
  'real-booleans': row((served) => {
    expect(served['enabledUser']).toBe(true);
  }),
  'number-booleans': row((served) => {
    expect(served['enabledUser']).toBe(1);
  }),
  'explicit-nulls': row((served) => {
    expect(served['middleName']).toBeNull();
  }),
  'unknown-fields': row((served) => {
    expect(served).toMatchObject({ 'x-shoeSize': 42, metadata: { 'x.extra': ['a', 1] } });
  }),
  'malformed-rows=0.4': async () => {
    const users = await test.get(USERS, { limit: 1000 });
    const bad = users.rows.filter((served) => typeof served['sourcedId'] !== 'string').length;
    expect([bad > all.length / 5, bad < (all.length * 3) / 5]).toEqual([true, true]);
    expect((await test.get(USERS, { limit: 1000 })).text).toBe(users.text);
    const absences = (await test.get(ABSENCES, { limit: 1000 })).rows;
    expect(absences.some((served) => Number.isNaN(Date.parse(served['fromTime'] as string)))).toBe(true);
    expect(absences.some((served) => typeof served['replacedBy'] === 'string')).toBe(true);
  },
  'relative-hrefs': row((served) => {
    expect(served).toMatchObject({ roles: [{ org: { href: expect.stringMatching(/^\/north\/ims\//) } }] });
  }),
  'microsecond-stamps': row((served) => {
    expect(served['dateLastModified']).toMatch(/\.\d{6}Z$/);
  }),
  'offset-stamps': row((served) => {
    expect(served['dateLastModified']).toMatch(/\.\d{3}\+00:00$/);
  }),
  'late-stamps=600000': async () => {
    const id = test.hub.district.ids('categories')[0]!;
    test.hub.district.patch('categories', id, { weight: 0.5 });
    const lag =
      test.hub.clock.now() -
      Date.parse(test.hub.district.get('categories', id)!['dateLastModified'] as string);
    expect([lag >= 600_000, lag < 605_000]).toEqual([true, true]);
  },
  'big-numbers': seen((page) => {
    expect(page.text).toContain('"x-big":9007199254740993.25}');
  }),
  'proto-keys': row((served) => {
    expect(Object.hasOwn(served, '__proto__')).toBe(true);
  }),
  'deep-nesting=5000': seen((page) => {
    expect(page.text).toContain('['.repeat(5000));
  }),
  'schedules-shape=odata': async () => {
    const student = test.hub.district.ids('students')[0]!;
    const page = await test.get('/api/core/schedules', { student, from: '2026-11-16', to: '2026-11-16' });
    expect(page.body).toHaveProperty('value');
  },
  'schedules-status=404:x': async () => {
    const days = { from: '2026-11-16', to: '2026-11-16' };
    await refused(404, '/api/core/schedules', { student: 'x', ...days })();
    await refused(200, '/api/core/schedules', { student: 'y', ...days })();
  },
  'schedules-to-exclusive': async () => {
    const student = test.hub.district.ids('students')[0]!;
    const page = await test.get('/api/core/schedules', { student, from: '2026-11-16', to: '2026-11-16' });
    expect(page.text).toBe('[]');
  },
};
beforeAll(async () => {
  test = await startTestHub();
  all = test.hub.district.ids('users');
});
afterAll(() => test[Symbol.asyncDispose]());
afterEach(() => {
  test.hub.faults.clear();
});

describe('faults', () => {
  it('every fault that the reference hub offers has a test here', () => {
    const proven = Object.keys(PROOFS).map((spec) => spec.split(/[=@]/)[0]);
    expect(new Set(proven)).toEqual(new Set(FAULTS.map((fault) => fault.name)));
  });

  it.each(Object.keys(PROOFS))('%s does what its name says', async (spec) => {
    test.hub.faults.set(spec);
    await PROOFS[spec]!();
  });

  it('a fault of one collection affects no other, and the token endpoint only by name', async () => {
    test.hub.faults.set('status=500@results');
    await refused(500, `${GRADEBOOK}/results`)();
    await refused(200)();
    test.hub.faults.clear('status', 'results');
    test.hub.faults.set('status=500');
    await test.newToken();
    await refused(500)();
    test.hub.faults.clear();
    await refused(200)();
    test.hub.faults.set('status', { value: 503, collection: 'token' });
    expect((await fetch(test.hub.tokenUrl, { method: 'POST' })).status).toBe(503);
  });

  it('a fault for two requests does not affect the third', async () => {
    test.hub.faults.set('status=500', { times: 2 });
    await refused(500)();
    await refused(500)();
    await refused(200)();
    expect(test.hub.faults.list()).toEqual([]);
  });

  it('several faults apply together', async () => {
    test.hub.faults.set('clamp-limit=7');
    test.hub.faults.set('no-total');
    test.hub.faults.set('real-booleans');
    const page = await test.get(USERS);
    expect([page.ids.length, page.headers.get('x-total-count'), page.rows[0]?.['enabledUser']]).toEqual([
      7,
      null,
      true,
    ]);
  });

  it.each(['nonsense', 'latency@nowhere', 'no-link=5'])('%s is refused', (spec) => {
    expect(() => {
      test.hub.faults.set(spec);
    }).toThrow(RangeError);
  });
});
