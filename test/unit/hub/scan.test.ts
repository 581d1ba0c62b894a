import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collectionNamed } from '../../../src/model/collections.ts';
import { modelHub, type Behaviour } from './support/model-hub.ts';
import { readAll, sendJson, serve, testHub } from './support/scripted-hub.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const STANDARD: Behaviour = {
  ids: IDS,
  cursor: 'honours',
  idFilter: 'honours',
  links: 'right',
  total: 'right',
};

/** On the only page. */
const LAST = { headers: { link: '<x>; rel="first"' } };

const rowsOf = (...ids: string[]) => ({ users: ids.map((sourcedId) => ({ sourcedId })) });

describe('a scan', () => {
  it('reads a hub as the spec describes it', async () => {
    await using test = await testHub(modelHub(STANDARD));
    const { ids, end, pages } = await readAll(test.hub, 'users');
    expect(ids).toEqual(IDS);
    expect(end).toEqual({
      reason: 'no-next-link',
      paging: 'keyset',
      rows: 8,
      totalAtStart: 8,
      totalAtEnd: 8,
    });
    expect(pages).toHaveLength(3);
    const usual = new Set(['request-started', 'request-done', 'token-obtained', 'paging-decided']);
    expect(test.events.filter(({ type }) => !usual.has(type))).toEqual([]);
  });

  it('sends only limit with the first request, and the token with each', async () => {
    await using test = await testHub(modelHub(STANDARD));
    await readAll(test.hub, 'users');
    const [first, second] = test.data();
    expect(first?.path).toBe('/tenant/ims/oneroster/rostering/v1p2/users');
    expect(first?.url.search).toBe('?limit=3');
    expect(second?.query.get('afterSourcedId')).toBe('c');
    expect(test.data().map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer token-1'));
  });

  it('keeps the filter of an incremental sync on every page, with milliseconds and Z', async () => {
    await using test = await testHub(modelHub({ ...STANDARD, links: 'none' }));
    await readAll(test.hub, 'users', { modifiedAfterMs: Date.UTC(2026, 0, 2, 3, 4, 5) });
    const filters = test.data().map(({ query }) => query.get('filter'));
    expect(new Set(filters)).toEqual(new Set(["dateLastModified>'2026-01-02T03:04:05.000Z'"]));
    expect(test.data()[0]?.url.search).not.toMatch(/[+ >]/);
  });

  it('keeps the meaning of a plus or a quote in an id', async () => {
    const ids = ['a+b', "a'c", 'a|d', 'a&e=1', 'a%f', 'aøg', 'a h'].sort();
    for (const cursor of ['honours', 'ignores'] as const) {
      await using test = await testHub(modelHub({ ...STANDARD, ids, cursor, links: 'none' }), {
        pageSize: 2,
      });
      const scan = await readAll(test.hub, 'users');
      expect(new Set(scan.ids)).toEqual(new Set(ids));
      expect(scan.end.paging).toBe(cursor === 'honours' ? 'keyset' : 'sourced-id-filter');
    }
  });

  it('gives the hub’s time if it is one, the size and the read version of each page', async () => {
    for (const [date, hubTimeMs] of [
      ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
      ['17', null],
    ] as const) {
      await using test = await testHub((_, response) =>
        sendJson(response, rowsOf('a'), { headers: { ...LAST.headers, date } }),
      );
      const { pages } = await readAll(test.hub, 'users', { readVersion: () => 7 });
      expect(pages[0]).toMatchObject({ hubTimeMs, readVersion: 7, total: null });
      expect(pages[0]?.bytes).toBeGreaterThan(10);
    }
  });

  it('puts the parent’s id into the path of a nested collection, encoded, never leading elsewhere, and pages by offset', async () => {
    await using test = await testHub(modelHub({ ...STANDARD, links: 'none' }));
    const { end, ids } = await readAll(test.hub, 'class-students', { parentId: 'x/../ø' });
    expect(ids).toEqual(IDS);
    expect(end.paging).toBe('offset');
    const [first, second] = test.data();
    expect(first?.path).toBe('/tenant/ims/oneroster/rostering/v1p2/classes/x%2F..%2F%C3%B8/students');
    expect(second?.url.search).toBe('?limit=3&offset=3');
    const asked = test.data().length;
    await expect(readAll(test.hub, 'class-students', { parentId: '..' })).rejects.toThrow(/parent/);
    expect(test.data()).toHaveLength(asked);
  });
});

describe('a scan of a hub that differs', () => {
  it('refuses a Link to another origin and sends no token there', async () => {
    await using other = await serve((_, response) => sendJson(response, rowsOf('stolen')));
    await using test = await testHub(({ query }, response) => {
      const last = query.get('afterSourcedId') === 'b';
      const next = last ? '<x>; rel="first"' : `<${other.origin}/tenant/users?afterSourcedId=b>; rel="next"`;
      sendJson(response, last ? rowsOf('c') : rowsOf('a', 'b'), { headers: { link: next } });
    });
    const { ids } = await readAll(test.hub, 'users');
    await readAll(test.hub, 'users');
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(other.asked).toEqual([]);
    const how = 'a link leads out of it, and is not followed';
    const refused = test.events.filter((event) => event.type === 'hub-differs' && event.how === how);
    expect(refused).toEqual([{ type: 'hub-differs', collection: 'users', how }]);
  });

  it.each([
    ['drops the filter', '/tenant/ims/oneroster/rostering/v1p2/users', true],
    ['leads to another collection', '/tenant/ims/oneroster/rostering/v1p2/orgs', false],
    ['leads out of the tenant', '/other/ims/oneroster/rostering/v1p2/users', false],
    ['cannot be parsed', 'http://[', false],
  ])('does not follow a Link that %s', async (_, to, delta) => {
    const next = `${to}?limit=3&afterSourcedId=b`;
    await using test = await testHub(({ query }, response) => {
      const last = query.get('afterSourcedId') === 'b';
      const link = last ? '<x>; rel="first"' : `<${next}>; rel="next"`;
      sendJson(response, last ? rowsOf('c') : rowsOf('a', 'b'), { headers: { link } });
    });
    const { ids } = await readAll(test.hub, 'users', delta ? { modifiedAfterMs: 0 } : {});
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(test.data()[1]?.path).toBe('/tenant/ims/oneroster/rostering/v1p2/users');
    expect(test.data()[1]?.query.has('filter')).toBe(delta);
  });

  it('pages by a filter on sourcedId where afterSourcedId is ignored, beside that of an incremental sync, and remembers that', async () => {
    await using test = await testHub(
      modelHub({ ...STANDARD, cursor: 'ignores', links: 'none', total: 'none' }),
    );
    const { ids, end } = await readAll(test.hub, 'users');
    expect(new Set(ids)).toEqual(new Set(IDS));
    expect(end.paging).toBe('sourced-id-filter');
    expect(test.events).toContainEqual({
      type: 'paging-decided',
      collection: 'users',
      paging: 'sourced-id-filter',
      why: 'a page repeats itself',
    });
    const before = test.data().length;
    await readAll(test.hub, 'users');
    const republication = test.data().slice(before);
    expect(republication.some(({ query }) => query.has('afterSourcedId'))).toBe(false);
    await readAll(test.hub, 'users', { modifiedAfterMs: 0 });
    expect(test.data().map(({ query }) => query.get('filter'))).toContain(
      "dateLastModified>'1970-01-01T00:00:00.000Z' AND sourcedId>'c'",
    );
    expect(
      republication.every(({ query }) => query.get('sort') === 'sourcedId' && query.get('orderBy') === 'asc'),
    ).toBe(true);
  });

  it('fails a scan in the middle of which the hub pages otherwise, and the next one finds out how', async () => {
    const now: { cursor: Behaviour['cursor'] } = { cursor: 'honours' };
    await using test = await testHub(async (request, response) => {
      if (request.query.get('afterSourcedId') === 'f') now.cursor = 'ignores';
      await modelHub({ ...STANDARD, cursor: now.cursor, links: 'none' })(request, response);
    });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: 'HUB_PAGING_BROKEN',
      message: expect.stringContaining('by keyset') as string,
    });
    expect((await readAll(test.hub, 'users')).end.paging).toBe('sourced-id-filter');
  });

  it('finds out how to page separately for incremental scans, because their filter has one more clause', async () => {
    const model = modelHub({ ...STANDARD, cursor: 'ignores', links: 'none' });
    await using test = await testHub((request, response) => {
      if (request.query.get('filter')?.includes(' AND ') !== true) return model(request, response);
      return sendJson(response, {}, { status: 400 });
    });
    for (const [read, paging] of [
      [{}, 'sourced-id-filter'],
      [{ modifiedAfterMs: 0 }, 'offset'],
      [{}, 'sourced-id-filter'],
    ] as const) {
      const { ids, end } = await readAll(test.hub, 'users', read);
      expect([new Set(ids), end.paging]).toEqual([new Set(IDS), paging]);
    }
  });

  it('pages by offset if the hub supports neither cursor nor filter', async () => {
    const hub = modelHub({
      ...STANDARD,
      cursor: 'refuses',
      idFilter: 'refuses',
      sort: 'refuses',
      links: 'none',
    });
    await using test = await testHub(hub);
    const { ids, end } = await readAll(test.hub, 'users');
    expect(new Set(ids)).toEqual(new Set(IDS));
    expect(end.paging).toBe('offset');
    expect(test.data().at(-1)?.query.has('sort')).toBe(false);
  });

  it('skips no row where the sort is ignored and the filter is not', async () => {
    const natural = ['g', 'c', 'a', 'h', 'b', 'f', 'd', 'e'];
    for (const total of ['right', 'none'] as const) {
      const behaviour: Behaviour = {
        ...STANDARD,
        cursor: 'ignores',
        idFilter: 'ignores-sort',
        natural,
        links: 'none',
      };
      await using test = await testHub(modelHub({ ...behaviour, total }));
      expect(new Set((await readAll(test.hub, 'users')).ids)).toEqual(new Set(IDS));
    }
  });

  it('fails with a prescribed way of paging that does not work', async () => {
    await using test = await testHub(modelHub({ ...STANDARD, cursor: 'ignores', links: 'none' }), {
      paging: 'keyset',
    });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: 'HUB_PAGING_BROKEN',
      remedy: expect.stringContaining('hub.paging') as string,
    });
  });

  it('loses no row by a clamped limit, reports it once and requests it from then on', async () => {
    await using test = await testHub(modelHub({ ...STANDARD, clamp: 2, links: 'none', total: 'none' }), {
      pageSize: 5000,
    });
    const { ids, end } = await readAll(test.hub, 'users');
    await readAll(test.hub, 'users');
    expect(ids).toEqual(IDS);
    expect(end.reason).toBe('empty-page');
    expect(test.events.filter(({ type }) => type === 'hub-differs')).toEqual([
      { type: 'hub-differs', collection: 'users', how: 'it gives 2 rows for a limit of 5000' },
    ]);
    expect(test.data().at(-1)?.query.get('limit')).toBe('2');
  });

  it('takes 204 and an empty list for no rows, and yields one page with the hub’s time', async () => {
    for (const status of [204, 200]) {
      await using test = await testHub((_, response) => {
        response.writeHead(status);
        response.end(status === 204 ? undefined : '{"users":[]}');
      });
      const { end, pages } = await readAll(test.hub, 'users');
      expect(end.reason).toBe('no-rows');
      expect(pages).toHaveLength(1);
      expect(pages[0]?.hubTimeMs).toBeTypeOf('number');
    }
  });

  it.each([
    '{}',
    'null',
    '{"users":null}',
    '',
    '{"imsx_codeMajor":"failure","errors":["x"]}',
    '{"a":[],"b":[]}',
  ])('does not take a body without the list for an empty collection: %s', async (body) => {
    await using test = await testHub((_, response) => response.end(body) && undefined);
    expect((await readAll(test.hub, 'users')).end.reason).toBe('missing-list');
  });

  it.each(['{"people":[{"sourcedId":"a"}]}', '[{"sourcedId":"a"}]'])(
    'finds the list under another name: %s',
    async (body) => {
      await using test = await testHub((_, response) => sendJson(response, body, LAST));
      expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    },
  );

  it.each(['{"users":{}}', '{"users":7}', '"users"', '7'])(
    'fails where the list is no list: %s',
    async (body) => {
      await using test = await testHub((_, response) => sendJson(response, body));
      await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_BODY_INVALID' });
    },
  );

  it.each([
    ['more rows than asked for', 'abcde', { link: '<x>; rel="first"' }],
    ['more rows than asked for, without Link', 'abcde', {}],
    ['fewer rows than asked for', 'ab', {}],
  ])('is complete where the hub does not page and counts just what it gives: %s', async (_, all, headers) => {
    const ids = all.split('');
    const total = { 'x-total-count': String(ids.length) };
    await using test = await testHub((__, response) =>
      sendJson(response, rowsOf(...ids), { headers: { ...headers, ...total } }),
    );
    const { end, ids: read } = await readAll(test.hub, 'users');
    expect(new Set(read)).toEqual(new Set(ids));
    expect(end).toMatchObject({ reason: 'total-reached', totalAtStart: ids.length, totalAtEnd: ids.length });
    const before = test.data().length;
    expect((await readAll(test.hub, 'users')).ids).toEqual(ids);
    expect(test.data().length - before).toBe(2);
  });

  it.each(['filter', 'offset'])(
    'reads all pages that are longer than requested and count only themselves, by %s',
    async (parameter) => {
      await using test = await testHub(({ query }, response) => {
        const value = query.get(parameter) ?? '';
        const after = /sourcedId>'(.*)'/.exec(value)?.[1];
        const rest = IDS.slice(parameter === 'offset' ? Number(value) : IDS.indexOf(after ?? '') + 1);
        const rows = rest.slice(0, 4);
        sendJson(response, rowsOf(...rows), { headers: { 'x-total-count': String(rows.length) } });
      });
      expect(new Set((await readAll(test.hub, 'users')).ids)).toEqual(new Set(IDS));
    },
  );

  it('continues from the last row with an id', async () => {
    await using test = await testHub(({ query }, response) => {
      const cursor = query.get('afterSourcedId');
      if (cursor === null) sendJson(response, { users: [{ sourcedId: 'a' }, { sourcedId: 5 }, null] });
      else sendJson(response, cursor === 'a' ? rowsOf('b') : rowsOf());
    });
    const { ids, end } = await readAll(test.hub, 'users');
    expect(ids).toContain('b');
    expect(end.rows).toBe(4);
  });

  it('reads all pages of rows without ids', async () => {
    const rows = Array.from({ length: 8 }, (_, n) => ({ n }));
    await using test = await testHub(({ query }, response) => {
      const offset = Number(query.get('offset') ?? 0);
      sendJson(response, { users: rows.slice(offset, offset + 3) });
    });
    const { pages, end } = await readAll(test.hub, 'users');
    expect(end).toMatchObject({ paging: 'offset', reason: 'short-page' });
    expect(new Set(pages.flatMap((page) => page.rows.map((row) => (row as { n: number }).n))).size).toBe(8);
  });

  it('keeps the digits of a number that a double cannot hold', async () => {
    const body = '{"users":[{"sourcedId":"a","n":12345678901234567890}]}';
    await using test = await testHub((_, response) => sendJson(response, body, LAST));
    const { pages } = await readAll(test.hub, 'users');
    expect(JSON.stringify(pages[0]?.rows)).toContain('12345678901234567890');
  });
});

describe('reading ahead', () => {
  const signal = new AbortController().signal;
  const users = { collection: collectionNamed('users'), readVersion: () => 0, signal };

  it('is one page ahead of the consumer, and no further', async () => {
    await using test = await testHub(modelHub({ ...STANDARD, ids: 'abcdefghijklmnop'.split('') }));
    const scan = test.hub.readPages(users);
    await scan.next();
    await expect.poll(() => test.data().length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(test.data().length).toBe(2);
    await scan.return({} as never);
  });

  it('sends the request for the next page before a page is delivered', async () => {
    await using test = await testHub(modelHub({ ...STANDARD, ids: 'abcdefghijklmnop'.split('') }));
    let sent = 0;
    const count = (message: unknown): void => {
      const { request } = message as { request: { method: string; origin: string } };
      if (request.method === 'GET' && request.origin === test.server.origin) sent += 1;
    };
    subscribe('undici:client:sendHeaders', count);
    try {
      let pages = 0;
      const ahead: number[] = [];
      for await (const page of test.hub.readPages(users)) {
        pages += 1;
        if (page.rows.length === 3) ahead.push(sent - pages);
      }
      expect(ahead).toEqual([1, 1, 1, 1, 1]);
    } finally {
      unsubscribe('undici:client:sendHeaders', count);
    }
  });

  it('cancels its request when the scan is abandoned', async () => {
    let closed = false;
    await using test = await testHub(({ query }, response) => {
      if (query.has('afterSourcedId')) response.on('close', () => (closed = true));
      else sendJson(response, rowsOf('a', 'b', 'c'));
    });
    for await (const page of test.hub.readPages(users)) {
      expect(page.rows).toHaveLength(3);
      await expect.poll(() => test.data().length).toBe(2);
      break;
    }
    await expect.poll(() => closed).toBe(true);
  });

  it('fails only after the page before the failure was delivered', async () => {
    await using test = await testHub(({ query }, response) => {
      if (query.has('afterSourcedId')) sendJson(response, {}, { status: 418 });
      else sendJson(response, rowsOf('a', 'b', 'c'));
    });
    const scan = test.hub.readPages(users);
    expect((await scan.next()).done).toBe(false);
    await expect.poll(() => test.events.map(({ type }) => type)).toContain('request-failed');
    await expect(scan.next()).rejects.toMatchObject({ code: 'HUB_REQUEST_REFUSED' });
  });

  it('never sends more requests at a time than allowed, over all scans', async () => {
    let running = 0;
    let most = 0;
    const model = modelHub(STANDARD);
    const hub = await testHub(
      async (request, response) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        await model(request, response);
      },
      { maxConcurrentRequests: 2 },
    );
    await using test = hub;
    await Promise.all(Array.from({ length: 6 }, () => readAll(test.hub, 'users')));
    expect(most).toBe(2);
  });
});

const behaviours: fc.Arbitrary<Behaviour> = fc
  .record({
    ids: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { maxLength: 25 }),
    cursor: fc.constantFrom('honours', 'ignores', 'refuses'),
    idFilter: fc.constantFrom('honours', 'ignores', 'refuses'),
    sort: fc.constantFrom('honours', 'refuses'),
    clamp: fc.constantFrom(2, 3, 100),
    links: fc.constantFrom(
      'right',
      'none',
      'foreign',
      'past-the-end',
      'by-offset',
      'first-only',
      'unrelated',
    ),
    total: fc.constantFrom('right', 'zero', 'unfiltered', 'remaining', 'page', 'none'),
    seed: fc.integer(),
  })
  .map(({ seed, ...behaviour }) => {
    const natural = [...behaviour.ids].sort((a, b) => ((a.length * seed) % 7) - ((b.length * seed) % 7));
    return Object.assign(behaviour, { natural });
  })
  // Links that deny a next page, clamped pages and no total that shows it: no client can detect this.
  .filter(
    ({ links, cursor, total, clamp }) =>
      links !== 'first-only' ||
      cursor === 'honours' ||
      clamp === 100 ||
      total === 'right' ||
      total === 'unfiltered',
  );

/** Four of six rows by the second page, as many as had arrived. */
const COUNTS_THE_REST: Behaviour & { natural: string[] } = {
  ids: IDS.slice(0, 6),
  natural: IDS.slice(0, 6),
  cursor: 'refuses',
  idFilter: 'honours',
  sort: 'refuses',
  clamp: 100,
  links: 'first-only',
  total: 'remaining',
};

describe('for any behaviour of a hub', () => {
  it('a scan yields every row at least once and ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        behaviours,
        fc.integer({ min: 2, max: 8 }),
        fc.boolean(),
        async (behaviour, pageSize, delta) => {
          await using test = await testHub(modelHub(behaviour), { pageSize });
          const { ids } = await readAll(test.hub, 'users', delta ? { modifiedAfterMs: 0 } : {});
          expect(new Set(ids)).toEqual(new Set(behaviour.ids));
          expect(test.data().length).toBeLessThan(100);
        },
      ),
      {
        numRuns: 150,
        examples: [[COUNTS_THE_REST, 2, false]],
      },
    );
  });
});
