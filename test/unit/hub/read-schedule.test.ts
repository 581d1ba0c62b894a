import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ScheduleAnswer } from '../../../src/hub/hub.ts';
import { answer, readAll, sendJson, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

const signal = new AbortController().signal;

function ask(test: TestHub, student = 's 1&x'): Promise<ScheduleAnswer> {
  return test.hub.readSchedule({ student, from: '2026-11-12', to: '2026-12-05', signal });
}

const lesson = (id: number) => ({ id: `l${id}` });

/** Makes `of` pages of two lessons, each with the next one in `link`. */
function pages(of: number, link: (next: string) => object): Script {
  return ({ url, query }, response) => {
    const page = Number(query.get('$skip') ?? '0') / 2;
    const next = new URL(url);
    next.searchParams.set('$skip', String((page + 1) * 2));
    sendJson(response, {
      value: [lesson(page * 2), lesson(page * 2 + 1)],
      ...(page + 1 < of ? link(`${next.pathname}${next.search}`) : {}),
    });
  };
}

describe('the lessons of a student', () => {
  it('are requested with the parameters of the specification', async () => {
    await using test = await testHub(answer(200, [lesson(1)]));
    expect((await ask(test)).lessons).toEqual([lesson(1)]);
    const [asked] = test.data();
    expect(asked?.path).toBe('/tenant/api/core/schedules');
    expect(Object.fromEntries(asked?.query ?? [])).toEqual({
      student: 's 1&x',
      from: '2026-11-12',
      to: '2026-12-05',
    });
    expect(asked?.authorization).toMatch(/^Bearer /);
  });

  it('are none with 204', async () => {
    await using test = await testHub(answer(204));
    expect((await ask(test)).lessons).toEqual([]);
  });

  it.each([{ items: [] }, ''])(
    'are not none by a body of another shape, which is an error without a retry: %j',
    async (body) => {
      await using test = await testHub(answer(200, body));
      await expect(ask(test)).rejects.toMatchObject({ code: 'HUB_LESSONS_UNREADABLE' });
      expect(test.data()).toHaveLength(1);
    },
  );

  it('are read from every page: `@odata.nextLink`', async () => {
    await using test = await testHub(pages(4, (next) => ({ '@odata.nextLink': next })));
    expect((await ask(test)).lessons).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map(lesson));
  });

  it('are read from every page: a Link header', async () => {
    await using test = await testHub(({ query }, response) => {
      const first = !query.has('page');
      const headers = { link: '<?student=s&page=2>; rel="next"' };
      sendJson(response, [lesson(first ? 0 : 1)], first ? { headers } : {});
    });
    expect((await ask(test)).lessons).toEqual([lesson(0), lesson(1)]);
  });

  it('are read without sending the token where a link leads', async () => {
    await using other = await testHub(answer(200, [lesson(9)]));
    const wrongTenant = (next: string) => ({ '@odata.nextLink': `${other.server.origin}${next}` });
    await using test = await testHub(pages(2, wrongTenant));
    expect((await ask(test)).lessons).toEqual([0, 1, 2, 3].map(lesson));
    await ask(test);
    expect(other.data()).toEqual([]);
    expect(test.data().every(({ path }) => path === '/tenant/api/core/schedules')).toBe(true);
  });

  it.each([
    ['a link to the same page', () => ({ '@odata.nextLink': '?student=s' })],
    ['a foreign link without a query', () => ({ '@odata.nextLink': 'https://elsewhere.example/next' })],
  ])('are never read in part: %s', async (_, link) => {
    await using test = await testHub(answer(200, { value: [lesson(1)], ...link() }));
    await expect(ask(test)).rejects.toMatchObject({ code: 'HUB_PAGING_BROKEN' });
    expect(test.data().length).toBeLessThan(4);
  });

  it('are read from at most 500 pages', async () => {
    let page = 0;
    await using test = await testHub((_, response) => {
      page += 1;
      sendJson(response, { value: [], '@odata.nextLink': `?page=${page}` });
    });
    await expect(ask(test)).rejects.toThrow(/more than 500 pages/);
  });

  it('appear in no error with the name of the student', async () => {
    await using test = await testHub(answer(400));
    const error: unknown = await ask(test, 'secret-student').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'HUB_REQUEST_REFUSED', status: 400 });
    expect(JSON.stringify([String(error), test.events])).not.toContain('secret-student');
  });
});

describe('a failing Core API', () => {
  const script =
    (core: Script): Script =>
    (request, response) =>
      request.path.includes('/api/core/')
        ? core(request, response)
        : sendJson(response, { users: [{ sourcedId: 'a' }] }, { headers: { link: '<x>; rel="first"' } });

  it('does not open the circuit of the other API', async () => {
    await using test = await testHub(script(answer(500)));
    for (let times = 0; times < 5; times += 1) await ask(test).catch(() => undefined);
    await expect(ask(test)).rejects.toMatchObject({ code: 'HUB_CIRCUIT_OPEN' });
    expect(test.data()).toHaveLength(10);
    expect(test.events.filter(({ type }) => type === 'circuit-opened')).toMatchObject([{ api: 'core' }]);
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
  });

  it('does not follow the circuit of the other API', async () => {
    await using test = await testHub(
      ({ path }, response) =>
        path.includes('/api/core/') ? sendJson(response, []) : sendJson(response, {}, { status: 500 }),
      { breaker: { failures: 2 } },
    );
    await readAll(test.hub, 'users').catch(() => undefined);
    expect(test.events.some(({ type }) => type === 'circuit-opened')).toBe(true);
    expect((await ask(test)).lessons).toEqual([]);
  });

  it.each([
    [4, 2],
    [3, 1],
    [2, 1],
    [1, 1],
  ])('that hangs takes no more than its share of %i requests', async (maxConcurrentRequests, share) => {
    const hanging: string[] = [];
    await using test = await testHub(
      script(async () => {
        hanging.push('one');
        await delay(120_000, undefined, { ref: false });
      }),
      { maxConcurrentRequests },
    );
    for (let times = 0; times < 8; times += 1) void ask(test).catch(() => undefined);
    await expect.poll(() => hanging.length).toBe(share);
    const startedAt = performance.now();
    const read = Array.from({ length: 8 }, () => readAll(test.hub, 'users'));
    for (const { ids } of await Promise.all(read)) expect(ids).toEqual(['a']);
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    expect(hanging).toHaveLength(share);
  });
});
