import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { HubSettings } from '../../../src/hub/hub.ts';
import { createHubProbe, type CollectionProbe, type HubProbe } from '../../../src/hub/probe-hub.ts';
import type { PagingMode } from '../../../src/core/hub-events.ts';
import { collectionNamed } from '../../../src/model/collections.ts';
import { modelHub, type Behaviour } from './support/model-hub.ts';
import {
  readAll,
  sendJson,
  serve,
  testHub,
  type Script,
  type ScriptedServer,
} from './support/scripted-hub.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const STANDARD: Behaviour = {
  ids: IDS,
  cursor: 'honours',
  idFilter: 'honours',
  links: 'right',
  total: 'right',
};

const issuesOne: Script = (_, response) =>
  sendJson(response, { access_token: 't', token_type: 'Bearer', expires_in: 3600 });
const onePage: Script = (_, response) =>
  sendJson(response, { users: [{ sourcedId: 'a' }] }, { headers: { link: '<x>; rel="first"' } });

/** Probes `users` of a hub that follows the script. */
async function probe(
  script: Script,
  options: { paging?: PagingMode; pageSize?: number } = {},
): Promise<CollectionProbe & { requests: number }> {
  const { signal } = new AbortController();
  return withProbe(script, options, async (hub, server) => {
    const found = await hub.collection({ collection: collectionNamed('users'), signal });
    return { ...found, requests: server.asked.length - 1 };
  });
}

async function withProbe<T>(
  script: Script,
  options: { paging?: PagingMode; pageSize?: number; tokenScript?: Script; sleeps?: number[] },
  use: (hub: HubProbe, server: ScriptedServer) => Promise<T>,
): Promise<T> {
  const { tokenScript = issuesOne, sleeps = [] } = options;
  await using server = await serve((request, response) =>
    request.path === '/token' ? tokenScript(request, response) : script(request, response),
  );
  const settings: HubSettings = {
    baseUrl: server.origin,
    tokenUrl: `${server.origin}/token`,
    clientId: 'id',
    clientSecret: { reveal: () => 's3cret' },
    clientAuth: 'basic',
    scope: '',
    pageSize: options.pageSize ?? 1000,
    paging: options.paging ?? 'auto',
    maxConcurrentRequests: 4,
    requestTimeoutMs: 60_000,
    maxResponseBytes: 64 * 1024 * 1024,
  };
  await using hub = createHubProbe(settings, {
    now: () => Date.now() + sleeps.reduce((sum, ms) => sum + ms, 0),
    sleep: (ms) => {
      sleeps.push(ms);
      return Promise.resolve();
    },
  });
  return await use(hub, server);
}

describe('a probe of a hub that refuses for some seconds', () => {
  const { signal } = new AbortController();

  it('waits for a token as long as Retry-After says', async () => {
    let asked = 0;
    const tokenScript: Script = (request, response) => {
      asked += 1;
      if (asked === 1) sendJson(response, {}, { status: 429, headers: { 'retry-after': '3' } });
      else void issuesOne(request, response);
    };
    const lifetime = await withProbe(onePage, { tokenScript }, async (hub) => hub.token(signal));
    expect(lifetime).toEqual({ lifetimeMs: 3_600_000 });
  });

  it.each([
    ['a 401 to a token that was just issued', 401, {}],
    ['a 403 with Retry-After', 403, { 'retry-after': '3' }],
  ])('reads a collection after %s', async (_, status, headers) => {
    let asked = 0;
    const sleeps: number[] = [];
    const script: Script = (request, response) => {
      asked += 1;
      if (asked === 1) sendJson(response, {}, { status, headers });
      else void onePage(request, response);
    };
    const found = await withProbe(script, { sleeps }, async (hub) =>
      hub.collection({ collection: collectionNamed('users'), signal }),
    );
    expect(found).toMatchObject({ rows: 1 });
    expect(sleeps).toEqual([3000]);
  });
});

describe('a probe of a collection', () => {
  it.each([
    ['honours', 'honours', 'keyset'],
    ['ignores', 'honours', 'sourced-id-filter'],
    ['refuses', 'honours', 'sourced-id-filter'],
    ['ignores', 'ignores', 'offset'],
    ['refuses', 'refuses', 'offset'],
  ] as const)(
    'finds the way in which a sync pages: cursor %s, filter %s: %s',
    async (cursor, idFilter, way) => {
      for (const sort of ['honours', 'refuses'] as const) {
        const script = modelHub({ ...STANDARD, cursor, idFilter, sort, links: 'none' });
        await using test = await testHub(script, { pageSize: 2 });
        const { end } = await readAll(test.hub, 'users');
        const found = await probe(script);
        expect(found).toMatchObject({ paging: end.paging, rows: 2, total: 7, firstId: 'a' });
        if (sort === 'honours') expect(found.paging).toBe(way);
        expect(found.whySteppedDown === null).toBe(cursor === 'honours');
        expect(found.requests).toBeLessThan(15);
      }
    },
  );

  it('fails where a sync fails: the hub refuses the prescribed way of paging', async () => {
    const script = modelHub({ ...STANDARD, cursor: 'refuses', links: 'none' });
    await expect(probe(script, { paging: 'keyset' })).rejects.toMatchObject({ code: 'HUB_REQUEST_REFUSED' });
    expect(await probe(script, { paging: 'offset' })).toMatchObject({ paging: 'offset' });
  });

  it('does not fail for a hub without paging where one page holds the collection', async () => {
    const script: Script = (_, response) =>
      sendJson(
        response,
        { users: [{ sourcedId: 'a' }, { sourcedId: 'b' }, { sourcedId: 'c' }] },
        {
          headers: { 'x-total-count': '3' },
        },
      );
    expect(await probe(script)).toMatchObject({ rows: 3, total: 3, paging: null });
    const twoOnly: Script = (_, response) =>
      sendJson(response, { users: [{ sourcedId: 'a' }, { sourcedId: 'b' }] });
    expect(await probe(twoOnly)).toMatchObject({ rows: 2, paging: null, isRepeated: true });
    await expect(probe(twoOnly, { pageSize: 2 })).rejects.toMatchObject({ code: 'HUB_PAGING_BROKEN' });
  });

  it('compares a collection that fits in one page of a sync with the total of the hub', async () => {
    const script: Script = ({ query }, response) => {
      const after = query.get('afterSourcedId') ?? '';
      const ids = IDS.filter((id) => id > after).slice(0, Number(query.get('limit')));
      const users = ids.map((sourcedId) => ({ sourcedId }));
      sendJson(response, { users }, { headers: { 'x-total-count': '9' } });
    };
    expect(await probe(script)).toMatchObject({ rows: 2, short: { rows: 7, total: 9 } });
    expect(await probe(script, { pageSize: 8 })).toMatchObject({ rows: 2, short: null });
  });

  it('does not judge the paging by a single row', async () => {
    for (const links of ['right', 'none'] as const) {
      const script = modelHub({ ...STANDARD, ids: ['a'], links });
      expect(await probe(script)).toMatchObject({ rows: 1, paging: null, whySteppedDown: null });
    }
  });

  it('counts no rows in an empty answer, and knows no number in an answer without a list', async () => {
    expect(await probe((_, response) => void response.writeHead(204).end())).toMatchObject({ rows: 0 });
    expect(await probe((_, response) => sendJson(response, {}))).toMatchObject({ rows: null });
  });

  it('counts a row whose id is no text as one without an id', async () => {
    const script: Script = (_, response) =>
      sendJson(response, { users: [{ sourcedId: 1 }] }, { headers: { 'x-total-count': '1' } });
    expect(await probe(script)).toMatchObject({ rows: 1, rowsWithId: 0, firstId: null });
  });
});

describe('a probe of the filter of incremental syncs', () => {
  const rows = [
    { sourcedId: 'a', dateLastModified: '2026-03-04T08:00:00.000Z' },
    { sourcedId: 'b', dateLastModified: '2026-03-05T08:00:00+01:00' },
    { sourcedId: 'c', dateLastModified: '2026-03-04T09:00:00.000Z' },
  ];
  const send = (response: ServerResponse, users: readonly object[], after: string | null): void =>
    sendJson(response, { users: after === null ? users : [] }, { headers: { link: '<x>; rel="first"' } });

  /** `selects`: the rows that a filter by this time selects; it may answer otherwise instead. */
  function filtering(selects: (afterMs: number) => readonly object[] | number): Script {
    return ({ query }, response) => {
      const filter = /^dateLastModified>'(.+)'$/.exec(query.get('filter') ?? '');
      const selected = filter === null ? rows : selects(Date.parse(filter[1] ?? ''));
      if (typeof selected === 'number') sendJson(response, {}, { status: selected });
      else send(response, selected, query.get('afterSourcedId'));
    };
  }

  const modifiedAfter = (afterMs: number): object[] =>
    rows.filter(({ dateLastModified }) => Date.parse(dateLastModified) > afterMs);

  it('asks for the row that was modified last, by a time just before that', async () => {
    const asked: number[] = [];
    const script = filtering((afterMs) => {
      asked.push(afterMs);
      return modifiedAfter(afterMs);
    });
    expect(await probe(script)).toMatchObject({ dateFilterFinds: true });
    expect(new Set(asked)).toEqual(new Set([Date.parse('2026-03-05T06:59:59Z')]));
  });

  it.each([
    ['selects nothing', () => []],
    ['answers 404', () => 404],
    ['takes a time in UTC for one of its own zone', (afterMs: number) => modifiedAfter(afterMs + 3_600_000)],
  ])('says so where the hub %s', async (_, selects) => {
    expect(await probe(filtering(selects))).toMatchObject({ rows: 3, dateFilterFinds: false });
  });

  it.each([
    ['the filter is refused', filtering(() => 400)],
    ['no listed row has a time', onePage],
    ['no row is listed', (_, response) => send(response, [], null)],
    [
      'the row may be on a later page',
      (request, response) =>
        request.query.has('filter')
          ? sendJson(response, { users: [{ sourcedId: `${request.query.get('afterSourcedId') ?? ''}x` }] })
          : send(response, rows, request.query.get('afterSourcedId')),
    ],
  ] satisfies readonly (readonly [string, Script])[])('claims nothing where %s', async (_, script) => {
    expect(await probe(script)).toMatchObject({ dateFilterFinds: null });
  });
});
