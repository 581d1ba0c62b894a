import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { collectionNamed } from '../../../src/model/collections.ts';
import { modelHub, type Behaviour } from './support/model-hub.ts';
import {
  answer,
  exchange,
  LAST_PAGE,
  PAGE,
  readAll,
  sendJson,
  START_MS,
  testHub,
  type Script,
} from './support/scripted-hub.ts';
import { turns } from './support/turns.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const hub = (differs: Partial<Behaviour> = {}): Script => modelHub({ ids: IDS, ...differs });
const rowsOf = (...ids: string[]) => ({ users: ids.map((sourcedId) => ({ sourcedId })) });
const USERS = '/tenant/ims/oneroster/rostering/v1p2/users';
const incremental = { options: { modifiedAfterMs: Date.UTC(2026, 0, 2, 3, 4, 5) } };
const CHANGED = 'filter=dateLastModified%3E%272026-01-02T03%3A04%3A05.000Z%27';

/** What was asked for, without the path. */
const queriesOf = ({ asked }: Awaited<ReturnType<typeof exchange>>): string[] =>
  asked.map(({ url }) => url.search);

it('a scan reads a hub as the spec describes it', async () => {
  const seen = await exchange([hub()]);
  expect(seen.ids).toEqual(IDS);
  expect(seen.end).toEqual({
    reason: 'no-next-link',
    paging: 'keyset',
    rows: 8,
    totalAtStart: 8,
    totalAtEnd: 8,
  });
  expect(queriesOf(seen)).toEqual(['?limit=3', '?limit=3&afterSourcedId=c', '?limit=3&afterSourcedId=f']);
  for (const asked of seen.asked)
    expect(asked).toMatchObject({ path: USERS, authorization: 'Bearer token-1' });
  const usual = new Set(['request-done', 'token-obtained', 'paging-decided']);
  expect(seen.events.filter(({ type }) => !usual.has(type))).toEqual([]);
});

it.each([
  ['Sun, 06 Nov 1994 08:49:00 GMT', START_MS],
  ['17', null],
])('a scan gives each page time, size, read version and all digits (date: %s)', async (date, hubTimeMs) => {
  const page = answer(200, '{"users":[{"n":12345678901234567890}]}', { ...LAST_PAGE, date });
  const { pages } = await exchange([page], { reads: [{ options: { readVersion: () => 7 } }] });
  expect(pages).toMatchObject([{ hubTimeMs, readVersion: 7, total: null, bytes: 38 }]);
  expect(JSON.stringify(pages)).toContain('12345678901234567890');
});

it('a scan below a parent has the encoded id of the parent in its path, and pages by offset', async () => {
  const of = 'class-students';
  const seen = await exchange([hub({ links: 'none' })], { reads: [{ of, options: { parentId: 'x/../ø' } }] });
  expect([seen.ids, seen.end?.paging]).toEqual([IDS, 'offset']);
  expect(seen.asked[0]?.path).toBe('/tenant/ims/oneroster/rostering/v1p2/classes/x%2F..%2F%C3%B8/students');
  expect(queriesOf(seen)).toEqual(['?limit=3&offset=0', '?limit=3&offset=3', '?limit=3&offset=6']);
  for (const parentId of ['.', '..', 'ø'.repeat(1100)]) {
    const { error, requests } = await exchange([hub()], { reads: [{ of, options: { parentId } }] });
    expect([error, requests]).toMatchObject([{ code: 'HUB_REQUEST_REFUSED', status: null }, 0]);
    expect(String(error)).not.toContain('ø');
  }
});

it('a scan goes on after a page whose last id is a lone surrogate, which no request can name', async () => {
  const ids = ['a', 'b', 'c\ud800', 'd', 'e'];
  const users = ids.map((sourcedId) => ({ sourcedId }));
  const pages = [users.slice(0, 3), users.slice(2), []].map((some) => answer(200, { users: some }));
  const seen = await exchange(pages);
  expect(new Set(seen.ids)).toEqual(new Set(ids));
  expect(queriesOf(seen).slice(1)).toEqual(['b', 'e'].map((id) => `?limit=3&afterSourcedId=${id}`));
});

const noCursor = { cursor: 'ignores', links: 'none' } as const;

it('a scan pages by offset if afterSourcedId is ignored, and remembers this for a day', async () => {
  const DAY_MS = 86_400_000;
  const reads = [{}, {}, incremental, { atMs: DAY_MS }];
  const seen = await exchange([hub({ ...noCursor, total: 'none' })], { reads });
  expect(seen.outcomes.map(({ ids }) => new Set(ids))).toEqual(reads.map(() => new Set(IDS)));
  const byOffset = (filter = '') =>
    [0, 3, 6].map((offset) => `?limit=3&offset=${offset}${filter}&sort=sourcedId&orderBy=asc`);
  const first = ['?limit=3', '?limit=3&afterSourcedId=c', ...byOffset()];
  expect(queriesOf(seen)).toEqual([...first, ...byOffset(), ...byOffset(`&${CHANGED}`), ...first]);
  const decided = { type: 'paging-decided', collection: 'users', paging: 'offset' };
  expect(seen.events).toContainEqual({ ...decided, why: 'a page repeats itself' });
});

it('a scan fails if the hub pages otherwise from its middle on, and the next scan adapts', async () => {
  const scripts = [hub({ links: 'none' }), hub({ links: 'none' }), hub(noCursor)];
  const { outcomes } = await exchange(scripts, { reads: [{}, {}] });
  const message = expect.stringContaining('by keyset') as string;
  expect(outcomes).toMatchObject([
    { error: { code: 'HUB_PAGING_BROKEN', message } },
    { end: { paging: 'offset' } },
  ]);
});

it('a scan asks for fewer rows if the hub clamps the limit', async () => {
  const seen = await exchange([hub({ clamp: 2, links: 'none', total: 'none' })], {
    pageSize: 5000,
    reads: [{}, {}],
  });
  expect(seen.outcomes).toMatchObject([{ ids: IDS, end: { reason: 'empty-page' } }, { ids: IDS }]);
  expect(seen.limits.slice(-4)).toEqual([2, 2, 2, 2]);
});

it.each([
  ['to another origin', 'http://elsewhere.example/tenant/users'],
  ['to another collection', USERS.replace('users', 'orgs')],
  ['nowhere', 'http://['],
])('a scan never follows a Link %s, and keeps its filter', async (_, to) => {
  const link = `<${to}?limit=3&afterSourcedId=b>; rel="next"`;
  const first = answer(200, rowsOf('a', 'b'), { link });
  const last = answer(200, rowsOf('c'), LAST_PAGE);
  const seen = await exchange([first, last], { reads: [incremental] });
  expect(seen.ids).toEqual(['a', 'b', 'c']);
  expect(seen.asked[1]?.path).toBe(USERS);
  expect(queriesOf(seen)[1]).toBe(`?limit=3&${CHANGED}&afterSourcedId=b`);
});

const noRows = { end: { reason: 'no-rows' }, pages: [{ hubTimeMs: expect.any(Number) as number }] };
const noList = { end: { reason: 'missing-list' } };
const invalid = { error: { code: 'HUB_BODY_INVALID' } };
const none = { 'x-total-count': '0' };
it.each<[body: string, outcome: object, status?: number, headers?: Record<string, string>]>([
  ['', noRows, 204],
  ['{"users":null}', noRows, 200, none],
  ['{}', noList, 200, none],
  ['{"users":[]}', noRows],
  ['{}', noList],
  ['null', noList],
  ['{"users":null}', noList],
  ['{"imsx_codeMajor":"failure","errors":["x"]}', noList],
  ['{"a":[],"b":[]}', noList],
  ['{"people":[{"sourcedId":"a"}]}', { ids: ['a'] }],
  ['[{"sourcedId":"a"}]', { ids: ['a'] }],
  ['{"users":{}}', invalid],
  ['"users"', invalid],
  ['7', invalid],
])(
  'a scan ends with "no rows" only at an empty list or 204: %s',
  async (body, outcome, status = 200, headers = {}) =>
    expect(await exchange([answer(status, body, { ...LAST_PAGE, ...headers })])).toMatchObject(outcome),
);

it.each<[string, Partial<Behaviour>, string]>([
  ['a later one', { hidden: 'def' }, 'abcgh'],
  ['the first one', { hidden: 'abc' }, 'defgh'],
  ['the first two', { hidden: 'abcdef' }, 'gh'],
  ['a later one, by offset', { hidden: 'def', cursor: 'refuses' }, 'abcgh'],
  ['the first one, by offset', { hidden: 'abc', cursor: 'ignores' }, 'defgh'],
])('a scan does not end at a page whose rows the hub hides: %s', async (_, differs, shown) => {
  const seen = await exchange([hub({ total: 'none', ...differs })], { reads: [{}, {}] });
  const ids = seen.outcomes.map((each) => [...new Set(each.ids)].join(''));
  expect(ids).toEqual([shown, shown]);
  const paging = differs.cursor === undefined ? 'keyset' : 'offset';
  for (const { end } of seen.outcomes) expect(end).toMatchObject({ paging, reason: 'no-next-link' });
});

it('a scan delivers the rows that follow the last row with an id', async () => {
  const first = answer(200, { users: [{ sourcedId: 'a' }, { sourcedId: 5 }, null] });
  const seen = await exchange([first, answer(200, rowsOf('b')), answer(200, rowsOf())]);
  expect(seen).toMatchObject({ ids: ['a', '5', 'undefined', 'b'], end: { rows: 4 } });
  expect(queriesOf(seen)[1]).toBe('?limit=3&afterSourcedId=a');
});

const signal = new AbortController().signal;
const users = { collection: collectionNamed('users'), readVersion: () => 0, signal };
const long = hub({ ids: 'abcdefghijklmnop'.split('') });

it('a scan reads one page ahead of its consumer, and no further', async () => {
  await using test = await testHub(long);
  let sent = 0;
  const count = (message: unknown): void => {
    const { request } = message as { request: { method: string; origin: string } };
    if (request.method === 'GET' && request.origin === test.server.origin) sent += 1;
  };
  subscribe('undici:client:sendHeaders', count);
  onTestFinished(() => void unsubscribe('undici:client:sendHeaders', count));
  let pages = 0;
  const ahead: number[][] = [];
  for await (const page of test.hub.readPages(users)) {
    pages += 1;
    const atOnce = sent - pages;
    // The answer to the request ahead.
    await expect
      .poll(() => test.events.filter(({ type }) => type === 'request-done').length)
      .toBe(Math.min(pages + 1, 6));
    if (page.rows.length === 3) ahead.push([atOnce, sent - pages]);
  }
  // It has left before the page is delivered, and no other one follows.
  expect(ahead.flat()).toEqual(Array(10).fill(1));
});

it('a scan that is abandoned cancels its request ahead', async () => {
  const closed = Promise.withResolvers<void>();
  await using test = await testHub((request, response) => {
    if (request.query.has('afterSourcedId')) response.on('close', closed.resolve);
    else sendJson(response, rowsOf('a', 'b', 'c'));
  });
  for await (const page of test.hub.readPages(users)) {
    expect(page.rows).toHaveLength(3);
    await expect.poll(() => test.data().length).toBe(2);
    break;
  }
  await closed.promise;
});

it('a scan fails only after it has delivered the page before the failure', async () => {
  const first = answer(200, rowsOf('a', 'b', 'c'));
  await using test = await testHub((request, response) =>
    (request.query.has('afterSourcedId') ? answer(418) : first)(request, response),
  );
  const scan = test.hub.readPages(users);
  expect((await scan.next()).done).toBe(false);
  await expect.poll(() => test.events.map(({ type }) => type)).toContain('request-failed');
  await expect(scan.next()).rejects.toMatchObject({ code: 'HUB_REQUEST_REFUSED' });
});

it('all scans together never send more requests at a time than allowed', async () => {
  let running = 0;
  let most = 0;
  const full = Promise.withResolvers<void>();
  await using test = await testHub(
    async (request, response) => {
      running += 1;
      most = Math.max(most, running);
      if (running === 2) full.resolve();
      await full.promise;
      await turns(50);
      running -= 1;
      return PAGE(request, response);
    },
    { maxConcurrentRequests: 2 },
  );
  await Promise.all(Array.from({ length: 6 }, () => readAll(test.hub, 'users')));
  expect(most).toBe(2);
});

const behaviours: fc.Arbitrary<Behaviour> = fc
  .record({
    ids: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { maxLength: 25 }),
    cursor: fc.constantFrom('honours', 'ignores', 'refuses'),
    sort: fc.constantFrom('honours', 'refuses'),
    clamp: fc.constantFrom(2, 3, 100),
    least: fc.constantFrom(0, 0, 4, 9),
    links: fc.constantFrom(
      'right',
      'none',
      'foreign',
      'past-the-end',
      'by-offset',
      'first-only',
      'unrelated',
    ),
    total: fc.constantFrom('right', 'zero', 'remaining', 'page', 'none'),
    seed: fc.integer(),
  })
  .map(({ seed, ...behaviour }) => {
    const natural = [...behaviour.ids].sort((a, b) => ((a.length * seed) % 7) - ((b.length * seed) % 7));
    return Object.assign(behaviour, { natural });
  })
  // Links that deny a next page, clamped pages and no total that shows it: no client can detect this.
  .filter(
    ({ links, cursor, total, clamp }) =>
      links !== 'first-only' || cursor === 'honours' || clamp === 100 || total === 'right',
  );

/** Four of six rows by the second page, as many as had arrived. */
const COUNTS_THE_REST: Behaviour & { natural: string[] } = {
  ids: IDS.slice(0, 6),
  natural: IDS.slice(0, 6),
  cursor: 'refuses',
  sort: 'refuses',
  clamp: 100,
  links: 'first-only',
  total: 'remaining',
};

it('a scan brings every row at least once and ends, whatever the behaviour of the hub', async () => {
  await fc.assert(
    fc.asyncProperty(
      behaviours,
      fc.integer({ min: 2, max: 8 }),
      fc.boolean(),
      async (behaviour, pageSize, incremental) => {
        await using test = await testHub(modelHub(behaviour), { pageSize });
        const { ids } = await readAll(test.hub, 'users', incremental ? { modifiedAfterMs: 0 } : {});
        expect(new Set(ids)).toEqual(new Set(behaviour.ids));
        expect(test.data().length).toBeLessThan(100);
      },
    ),
    { numRuns: 150, examples: [[COUNTS_THE_REST, 2, false]] },
  );
});
