import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { collectionNamed } from '../../../src/model/collections.ts';
import { modelHub } from './support/model-hub.ts';
import { answer, inTurn, readAll, sendJson, serve, testHub, type Script } from './support/scripted-hub.ts';

const page: Script = (_, response) =>
  sendJson(response, { users: [{ sourcedId: 'a' }] }, { headers: { link: '<x>; rel="first"' } });

/** Makes a script that fails once and then answers. */
const failing = (failure: Script): Script => inTurn(failure, page);

describe('transient failures', () => {
  const broken: Script = (_, r) => {
    r.writeHead(200, { 'content-length': '1000' });
    r.write('{"users":[');
    setTimeout(() => r.destroy(), 5);
  };
  const damaged: Script = (_, r) => {
    r.writeHead(200, { 'content-encoding': 'gzip' });
    r.end(gzipSync('{"users":[]}').subarray(0, 15));
  };
  const cases: readonly (readonly [string, Script])[] = [
    ['a 500', answer(500)],
    ['a 503', answer(503)],
    ['a 429 in HTML', answer(429, '<h1>slow down</h1>', { 'content-type': 'text/html' })],
    ['a 408', answer(408)],
    ['a connection reset before the answer', (_, r) => void r.destroy()],
    ['a connection broken in the body', broken],
    ['truncated JSON', answer(200, '{"users":[{"sourcedId":"a"')],
    ['an error page with 200', answer(200, '<!DOCTYPE html><p>oops')],
    ['damaged gzip', damaged],
    ['a stalled answer', () => undefined],
  ];

  it.each(cases)('%s is retried', async (_, failure) => {
    await using test = await testHub(failing(failure), {
      timeouts: { headersMs: 2_000, requestMs: 10_000 },
    });
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    expect(test.data()).toHaveLength(2);
    expect(test.sleeps).toHaveLength(1);
    expect(test.events.map(({ type }) => type)).toContain('request-retried');
  });

  it('the number of attempts is bounded, and their jitter has a growing ceiling', async () => {
    await using test = await testHub(answer(500), {
      random: () => 0.999999,
      retry: { maxAttempts: 5, firstMs: 100, longestMs: 500 },
    });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      reaction: 'retry',
    });
    expect(test.data()).toHaveLength(5);
    expect(test.sleeps).toEqual([99, 199, 399, 499]);
  });

  it.each([
    ['in seconds is the shortest wait', '7', 7_000],
    ['as a date is the shortest wait', 'Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['of a year is cut to five minutes', '31536000', 300_000],
    ['that is unreadable is ignored', '-5', 0],
  ])('a Retry-After %s', async (_, value, waitMs) => {
    const now = (): number => Date.UTC(1994, 10, 6, 8, 49, 0);
    await using test = await testHub(failing(answer(503, {}, { 'retry-after': value })), { now });
    await readAll(test.hub, 'users');
    expect(test.sleeps).toEqual([waitMs]);
  });

  it('waiting ends when the signal does', async () => {
    const stop = new AbortController();
    await using test = await testHub(answer(503, {}, { 'retry-after': '60' }), {
      sleep: undefined,
      onEvent: ({ type }) => {
        if (type === 'request-retried') stop.abort(new Error('stopping'));
      },
    });
    await expect(readAll(test.hub, 'users', { signal: stop.signal })).rejects.toThrow('stopping');
  });
});

describe('permanent failures', () => {
  it.each([
    [404, 'HUB_NOT_OFFERED', /baseUrl/],
    [400, 'HUB_REQUEST_REFUSED', /hub\./],
    [422, 'HUB_REQUEST_REFUSED', /hub\./],
    [302, 'HUB_REQUEST_REFUSED', /hub\.baseUrl.*target of the redirect/],
  ])('%i fails at once, as %s', async (code, expected, remedy) => {
    await using test = await testHub(answer(code, {}, { location: 'https://elsewhere.example/x?secret=1' }));
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: expected,
      remedy: expect.stringMatching(remedy) as string,
    });
    expect(test.data()).toHaveLength(1);
    expect(test.sleeps).toEqual([]);
  });

  it('a redirect is not followed, so the token goes nowhere else', async () => {
    await using other = await serve(page);
    await using test = await testHub(answer(307, {}, { location: `${other.origin}/tenant/users` }));
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_REQUEST_REFUSED' });
    expect(other.asked).toEqual([]);
  });

  const codes = {
    imsx_CodeMinor: { imsx_codeMinorField: [{ imsx_codeMinorFieldValue: 'invalid_filter_field' }] },
  };
  const failure = { imsx_codeMajor: 'failure' };
  it.each([
    ['bare', { ...failure, ...codes }],
    ['wrapped', { imsx_StatusInfo: { ...failure, ...codes } }],
    ['flat', { ...failure, imsx_codeMinor: 'invalid_filter_field' }],
  ])('the error shows the standard’s codes, %s', async (_, body) => {
    await using test = await testHub(answer(400, body));
    await expect(readAll(test.hub, 'users')).rejects.toThrow(/failure invalid_filter_field/);
  });

  it('no error shows query, filter, token or parent', async () => {
    for (const code of [400, 403, 404, 500]) {
      await using test = await testHub(answer(code), { retry: { maxAttempts: 1 } });
      const read = readAll(test.hub, 'afterschool-users', { parentId: 'child-7', modifiedAfterMs: 0 });
      const error = (await read.catch((failure: unknown) => failure)) as Error;
      expect(`${error.message} ${JSON.stringify(error)} ${JSON.stringify(test.events)}`).not.toMatch(
        /\?|dateLast|token-1|child-7/,
      );
      expect(error.message).toContain('/afterschools/{id}/users');
    }
  });

  it.each([
    ['refuses connections', (port: string) => `http://127.0.0.1:${port}/tenant`, /refused/],
    ['does not exist', () => 'http://no-such-host.invalid/x', /host name cannot be resolved/],
    ['speaks http, not https', () => null, /TLS failed/],
  ])('a hub that %s is an error that says so, with its address and what to check', async (_, at, why) => {
    await using other = await serve(page);
    const gone = await serve(page);
    await gone[Symbol.asyncDispose]();
    const baseUrl = at(new URL(gone.origin).port) ?? other.origin.replace('http:', 'https:');
    await using test = await testHub(page, { baseUrl, retry: { maxAttempts: 2 } });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: 'HUB_UNREACHABLE',
      message: expect.stringMatching(new RegExp(`${baseUrl}/ims.*${why.source}`)) as string,
      remedy: expect.stringContaining('hub.baseUrl') as string,
    });
    // TLS that fails will fail again.
    expect(test.sleeps).toHaveLength(baseUrl.startsWith('https') ? 0 : 1);
  });
});

describe('answers that are too large', () => {
  const big = JSON.stringify({ users: [{ sourcedId: 'a', text: 'x'.repeat(3_000_000) }] });
  const limits = { maxResponseBytes: 1_000_000, retry: { maxAttempts: 2 } };

  const endless: Script = (_, response) => {
    const pour = (): void => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    };
    response.on('drain', pour);
    pour();
  };
  const zipped =
    (body: string): Script =>
    (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', link: '<x>; rel="first"' });
      response.end(gzipSync(body));
    };

  it.each([
    ['is huge', (_: unknown, r: Parameters<Script>[1]) => sendJson(r, big)],
    ['is endless', endless],
    ['is a gzip bomb', zipped(big)],
  ] as const)('an answer that %s is cut off', async (_, script) => {
    await using test = await testHub(script, limits);
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_RESPONSE_TOO_LARGE' });
  });

  it('gzip is read', async () => {
    await using test = await testHub(zipped('{"users":[{"sourcedId":"a"}]}'));
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
  });

  it.each([
    ['is long', 'gzip', gzipSync('<html>' + 'a line of it\n'.repeat(20_000))],
    ['is damaged', 'gzip', gzipSync('<html>Down').subarray(0, 15)],
    ['is encoded in another way', 'br', Buffer.from('anything')],
  ])(
    'an error keeps its status, and its page the size, where its compressed page %s',
    async (_, encoding, body) => {
      for (const [code, expected] of [
        [503, 'HUB_UNAVAILABLE'],
        [404, 'HUB_NOT_OFFERED'],
      ] as const) {
        const script: Script = (__, response) => {
          response.writeHead(code, { 'content-encoding': encoding, 'retry-after': '7' }).end(body);
        };
        await using test = await testHub(script, { retry: { maxAttempts: 2 }, pageSize: 400 });
        await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: expected, status: code });
        expect(test.sleeps).toEqual(code === 404 ? [] : [7000]);
        expect(new Set(test.data().map(({ query }) => query.get('limit')))).toEqual(new Set(['400']));
      }
    },
  );

  it.each([
    ['too large', (_: unknown, r: Parameters<Script>[1]) => sendJson(r, big)],
    ['a time-out', () => undefined],
    ['a 504', (_: unknown, r: Parameters<Script>[1]) => sendJson(r, {}, { status: 504 })],
  ] as const)('%s halves the page size for this and later scans', async (_, failure) => {
    const ids = Array.from({ length: 300 }, (_, n) => String(1000 + n));
    const model = modelHub({ ids, cursor: 'honours', idFilter: 'honours', links: 'right', total: 'right' });
    await using test = await testHub(
      (request, response) =>
        Number(request.query.get('limit')) > 130 ? failure(request, response) : model(request, response),
      { pageSize: 400, maxResponseBytes: 1_000_000, timeouts: { headersMs: 1_000, requestMs: 10_000 } },
    );
    expect((await readAll(test.hub, 'users')).ids).toEqual(ids);
    // After a page that was too large, a single row shows whether the hub honours the limit; the pages after it grow.
    const limits =
      _ === 'too large' ? [400, 1, 2, 4, 8, 16, 32, 64, 128, 200, 100] : [400, 200, 100, 100, 100];
    expect(test.data().map(({ query }) => Number(query.get('limit')))).toEqual(limits);
    const before = test.data().length;
    await readAll(test.hub, 'users');
    expect(test.data()[before]?.query.get('limit')).toBe('100');
    expect(test.events.filter(({ type }) => type === 'hub-differs')).toHaveLength(2);
  });

  it('the page size is not halved below 50', async () => {
    await using test = await testHub(answer(504), { pageSize: 120 });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    expect(new Set(test.data().map(({ query }) => query.get('limit')))).toEqual(new Set(['120', '60', '50']));
  });
});

describe('the circuit breaker', () => {
  it('opens after several failures, sends nothing while it is open, and closes after one good request', async () => {
    let healthy = false;
    await using test = await testHub(
      (request, response) => (healthy ? page(request, response) : answer(500)(request, response)),
      { breaker: { failures: 4, openMs: 150 }, retry: { maxAttempts: 4 } },
    );
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    await expect(readAll(test.hub, 'orgs')).rejects.toMatchObject({
      code: 'HUB_CIRCUIT_OPEN',
      reaction: 'retry',
      remedy: expect.stringMatching(/^Rollcall sends nothing to it for \d+ s\. /) as string,
    });
    expect(test.data()).toHaveLength(4);
    healthy = true;
    await expect
      .poll(async () => (await readAll(test.hub, 'users').catch(() => null))?.ids, {
        timeout: 2000,
        interval: 20,
      })
      .toEqual(['a']);
    expect(test.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['circuit-opened', 'circuit-closed']),
    );
  });

  it('stays closed after refusals and 429', async () => {
    let asked = 0;
    await using test = await testHub(
      (request, response) => {
        asked += 1;
        return answer(asked % 2 === 0 ? 429 : 404)(request, response);
      },
      { breaker: { failures: 2, openMs: 60_000 }, retry: { maxAttempts: 1 } },
    );
    for (let poll = 0; poll < 8; poll += 1) {
      await expect(readAll(test.hub, 'users')).rejects.not.toMatchObject({ code: 'HUB_CIRCUIT_OPEN' });
    }
    expect(test.data()).toHaveLength(8);
  });
});

describe('a hub that answers 404 where a filter selects nothing', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const nothing = { imsx_codeMajor: 'failure', imsx_codeMinor: 'unknownobject' };

  /** `offered`: whether it lists the collection without a filter. */
  function strictHub({
    offered = true,
    cursor = 'honours' as const,
  }: { offered?: boolean; cursor?: 'honours' | 'ignores' } = {}): Script {
    const listed = modelHub({ ids, cursor, idFilter: 'honours', links: 'none', total: 'none' });
    return (request, response) => {
      const filter = request.query.get('filter') ?? '';
      const after = /sourcedId>'(.)'/.exec(filter)?.[1];
      const selectsNothing =
        /dateLastModified>|sourcedId='z'/.test(filter) || (after !== undefined && after >= 'f');
      if (!offered || selectsNothing) return sendJson(response, nothing, { status: 404 });
      const one = /sourcedId='(.)'/.exec(filter)?.[1];
      if (one !== undefined) return sendJson(response, { users: [{ sourcedId: one }] });
      return listed(request, response);
    };
  }

  it('has no changes for an incremental sync, and its clock is read', async () => {
    await using test = await testHub(strictHub());
    const { ids: found, end, pages } = await readAll(test.hub, 'users', { modifiedAfterMs: 0 });
    expect(found).toEqual([]);
    expect(end).toMatchObject({ reason: 'no-rows', rows: 0 });
    expect(pages[0]?.hubTimeMs).not.toBeNull();
    expect(test.data()).toHaveLength(2);
    expect(test.data()[1]?.url.search).toBe('?limit=1');
  });

  it('has no more rows where a scan pages by filter', async () => {
    await using test = await testHub(strictHub({ cursor: 'ignores' }), { paging: 'sourced-id-filter' });
    const { ids: found, end } = await readAll(test.hub, 'users');
    expect(found).toEqual(ids);
    expect(end).toMatchObject({ reason: 'empty-page', rows: 6 });
  });

  it('does not show the row that was asked for by its id', async () => {
    await using test = await testHub(strictHub());
    const find = {
      collection: collectionNamed('users'),
      ids: ['a', 'z'],
      signal: new AbortController().signal,
    };
    expect(await test.hub.findRows({ ...find, readVersion: () => 0 })).toHaveLength(1);
  });

  it('does not offer the collection if the answer without the filter is 404, too', async () => {
    await using test = await testHub(strictHub({ offered: false }));
    await expect(readAll(test.hub, 'users', { modifiedAfterMs: 0 })).rejects.toMatchObject({
      code: 'HUB_NOT_OFFERED',
    });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
  });

  it('is asked once more where the answer without the filter fails', async () => {
    let asked = 0;
    const hub = strictHub();
    await using test = await testHub((request, response) => {
      asked += 1;
      return asked === 2 ? sendJson(response, {}, { status: 503 }) : hub(request, response);
    });
    const { end } = await readAll(test.hub, 'users', { modifiedAfterMs: 0 });
    expect(end).toMatchObject({ reason: 'no-rows' });
    expect(test.data()).toHaveLength(4);
  });
});
