import { describe, expect, it } from 'vitest';
import { readAll, sendJson, serve, testHub, type Script } from './support/scripted-hub.ts';

const page: Script = (_, response) =>
  sendJson(response, { users: [{ sourcedId: 'a' }] }, { headers: { link: '<x>; rel="first"' } });

/** Issues token-1, token-2, … and records the requests. */
function tokenServer(fields: Record<string, unknown> = { expires_in: 3600 }) {
  const sent: { authorization: string | undefined; body: URLSearchParams }[] = [];
  const script: Script = (request, response) => {
    sent.push({ authorization: request.authorization, body: new URLSearchParams(request.body) });
    sendJson(response, { access_token: `token-${sent.length}`, token_type: 'bearer', ...fields });
  };
  return { sent, script };
}

describe('a request for a token', () => {
  it('with basic sends id and secret form-encoded, as RFC 6749 2.3.1 says', async () => {
    const { sent, script } = tokenServer();
    await using test = await testHub(page, {
      tokenScript: script,
      clientId: 'my id',
      clientSecret: { reveal: () => 'p:ä+%' },
      scope: 'a b',
    });
    await readAll(test.hub, 'users');
    const pair = Buffer.from('my+id:p%3A%C3%A4%2B%25').toString('base64');
    expect(sent[0]?.authorization).toBe(`Basic ${pair}`);
    expect([...(sent[0]?.body ?? [])]).toEqual([
      ['grant_type', 'client_credentials'],
      ['scope', 'a b'],
    ]);
  });

  it('with post sends them in the body, and no empty scope', async () => {
    const { sent, script } = tokenServer();
    await using test = await testHub(page, { tokenScript: script, clientAuth: 'post' });
    await readAll(test.hub, 'users');
    expect(sent[0]?.authorization).toBeUndefined();
    expect([...(sent[0]?.body ?? [])]).toEqual([
      ['grant_type', 'client_credentials'],
      ['client_id', 'id'],
      ['client_secret', 's3cret'],
    ]);
  });

  it('is sent once for many concurrent scans', async () => {
    const { sent, script } = tokenServer();
    await using test = await testHub(page, { tokenScript: script });
    await Promise.all(Array.from({ length: 8 }, () => readAll(test.hub, 'users')));
    await readAll(test.hub, 'users');
    expect(sent).toHaveLength(1);
  });

  it.each([
    [3600, 3_569_000, 3_571_000],
    ['3600', 3_569_000, 3_571_000],
    [8, 5_900, 6_100],
    [undefined, 269_000, 271_000],
    ['soon', 269_000, 271_000],
  ])(
    'with expires_in %s is sent again shortly before that time, not sooner',
    async (expiresIn, usedAtMs, renewedAtMs) => {
      let nowMs = 1_000_000;
      const { sent, script } = tokenServer({ expires_in: expiresIn });
      await using test = await testHub(page, { tokenScript: script, now: () => nowMs });
      await readAll(test.hub, 'users');
      nowMs = 1_000_000 + usedAtMs;
      await readAll(test.hub, 'users');
      expect(sent).toHaveLength(1);
      nowMs = 1_000_000 + renewedAtMs;
      await readAll(test.hub, 'users');
      expect(sent).toHaveLength(2);
      expect(test.data().at(-1)?.authorization).toBe('Bearer token-2');
    },
  );
});

describe('a token that the hub refuses', () => {
  it.each([401, 403])('is renewed once if it has expired (%i), and the scan continues', async (status) => {
    let nowMs = 0;
    const { sent, script } = tokenServer();
    await using test = await testHub(
      (request, response) => {
        const isExpired = nowMs > 0 && request.authorization === 'Bearer token-1';
        if (isExpired) sendJson(response, {}, { status });
        else void page(request, response);
      },
      { tokenScript: script, now: () => nowMs },
    );
    await readAll(test.hub, 'users');
    nowMs = 60_000;
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    expect(sent).toHaveLength(2);
    expect(test.sleeps).toEqual([]);
    expect(test.events).toContainEqual({
      type: 'token-obtained',
      reason: 'refused-by-hub',
      lifetimeMs: 3_600_000,
    });
  });

  it.each([401, 403])('is an error for a person while it is young (%i)', async (status) => {
    const { sent, script } = tokenServer();
    await using test = await testHub((_, response) => sendJson(response, {}, { status }), {
      tokenScript: script,
    });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: 'HUB_FORBIDDEN',
      reaction: 'person',
    });
    expect(sent).toHaveLength(1);
    expect(test.data()).toHaveLength(1);
  });

  it('is renewed once a minute at most, however often a forbidden collection is asked for', async () => {
    let nowMs = 0;
    const { sent, script } = tokenServer();
    await using test = await testHub(
      (request, response) => {
        if (request.path.endsWith('/users')) void page(request, response);
        else sendJson(response, {}, { status: 403 });
      },
      { tokenScript: script, now: () => nowMs },
    );
    for (; nowMs < 180_000; nowMs += 10_000) {
      await readAll(test.hub, 'users');
      await expect(readAll(test.hub, 'orgs')).rejects.toMatchObject({ code: 'HUB_FORBIDDEN' });
    }
    expect(sent).toHaveLength(3);
  });
});

describe('a refusal that passes in seconds', () => {
  it.each([401, 403, 429])(
    'is waited for as long as Retry-After says (%i), with the same token',
    async (status) => {
      let asked = 0;
      const { sent, script } = tokenServer();
      await using test = await testHub(
        (request, response) => {
          asked += 1;
          if (asked === 2) sendJson(response, {}, { status, headers: { 'retry-after': '3' } });
          else void page(request, response);
        },
        { tokenScript: script },
      );
      await readAll(test.hub, 'users');
      expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
      expect(test.sleeps).toEqual([3000]);
      expect(sent).toHaveLength(1);
    },
  );

  it('is retried like a 503 where it has Retry-After: within bounds', async () => {
    await using test = await testHub(
      (_, response) => sendJson(response, {}, { status: 403, headers: { 'retry-after': '3' } }),
      { retry: { maxAttempts: 4 } },
    );
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      reaction: 'retry',
    });
    expect(test.sleeps).toEqual([3000, 3000, 3000]);
  });

  it.each([
    [400, { error: 'invalid_request' }],
    [401, { error: 'invalid_client' }],
    [403, {}],
    [429, {}],
  ])('is waited for at the token endpoint too, as long as Retry-After says (%i)', async (status, body) => {
    let asked = 0;
    await using test = await testHub(page, {
      tokenScript: (_, response) => {
        asked += 1;
        if (asked === 1) sendJson(response, body, { status, headers: { 'retry-after': '3' } });
        else sendJson(response, { access_token: 't', expires_in: 3600 });
      },
    });
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    expect(asked).toBe(2);
    expect(test.sleeps).toEqual([3000]);
  });
});

describe('a token endpoint that refuses', () => {
  const cases: readonly (readonly [string, Script, RegExp, RegExp])[] = [
    [
      'invalid_client',
      (_, r) =>
        sendJson(r, { error: 'invalid_client', error_description: 's3cret is wrong' }, { status: 401 }),
      /invalid_client/,
      /clientSecret/,
    ],
    [
      'invalid_scope',
      (_, r) => sendJson(r, { error: 'invalid_scope' }, { status: 400 }),
      /invalid_scope/,
      /hub\.scope/,
    ],
    [
      'unauthorized_client',
      (_, r) => sendJson(r, { error: 'unauthorized_client' }, { status: 400 }),
      /unauthorized_client/,
      /client_credentials/,
    ],
  ];

  it.each(cases)(
    'is reported with its remedy, without the secret, and not asked again: %s',
    async (_, tokenScript, what, remedy) => {
      await using test = await testHub(page, { tokenScript });
      const error = await readAll(test.hub, 'users').catch((failure: unknown) => failure);
      expect(error).toMatchObject({
        code: 'HUB_TOKEN_REFUSED',
        message: expect.stringMatching(what) as string,
        remedy: expect.stringMatching(remedy) as string,
      });
      expect(String(error) + JSON.stringify(error) + JSON.stringify(test.events)).not.toContain('s3cret');
      expect(test.data()).toEqual([]);
      expect(test.sleeps).toEqual([]);
    },
  );

  it('is reported with the time until the next request', async () => {
    let nowMs = 0;
    await using test = await testHub(page, {
      now: () => nowMs,
      tokenScript: (_, response) => sendJson(response, { error: 'invalid_client' }, { status: 401 }),
    });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ retryAfterMs: 15_000 });
    nowMs = 4_000;
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ retryAfterMs: 11_000 });
  });

  it('is asked ever more rarely about wrong credentials', async () => {
    let nowMs = 0;
    let asked = 0;
    await using test = await testHub(page, {
      now: () => nowMs,
      tokenScript: (_, response) => {
        asked += 1;
        sendJson(response, { error: 'invalid_client' }, { status: 401 });
      },
    });
    for (; nowMs < 3_600_000; nowMs += 1000) {
      await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_TOKEN_REFUSED' });
    }
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(15);
  });

  const passing: readonly (readonly [string, Script, RegExp, RegExp])[] = [
    [
      'a login page',
      (_, r) => sendJson(r, '<!doctype html><p>Log in', { headers: { 'content-type': 'text/html' } }),
      /HTML page/,
      /hub\.tokenUrl/,
    ],
    ['truncated JSON', (_, r) => sendJson(r, '{"access_token":"to'), /not a JSON object/, /hub\.tokenUrl/],
    ['an empty body', (_, r) => sendJson(r, ''), /not a JSON object/, /hub\.tokenUrl/],
    ['no access_token', (_, r) => sendJson(r, { token: 'x' }), /no usable access_token/, /hub\.tokenUrl/],
    [
      'a token that would break the header',
      (_, r) => sendJson(r, { access_token: 'a\r\nx: y' }),
      /no usable access_token/,
      /hub\.tokenUrl/,
    ],
    [
      'tokens of another type',
      (_, r) => sendJson(r, { access_token: 'a', token_type: 'mac' }),
      /other than Bearer/,
      /Bearer/,
    ],
    ['a 404', (_, r) => sendJson(r, '<h1>Not found</h1>', { status: 404 }), /HTTP 404/, /hub\.tokenUrl/],
    ['a 401 of a proxy', (_, r) => sendJson(r, '<h1>No', { status: 401 }), /HTTP 401/, /clientSecret/],
    ['a 403 in HTML', (_, r) => sendJson(r, '<html>No', { status: 403 }), /HTTP 403/, /clientSecret/],
    [
      'an unknown error code',
      (_, r) => sendJson(r, { error: 'try_later' }, { status: 400 }),
      /HTTP 400/,
      /hub\.scope/,
    ],
    [
      'a redirect',
      (_, r) => sendJson(r, '', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }),
      /redirect/,
      /hub\.tokenUrl/,
    ],
  ];

  it.each(passing)(
    'is asked again after %s, and the error says what to check',
    async (_, fault, what, remedy) => {
      let asked = 0;
      await using test = await testHub(page, {
        tokenScript: (request, response) => {
          asked += 1;
          if (asked <= 2) return fault(request, response);
          return sendJson(response, { access_token: 't' });
        },
      });
      expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
      expect(test.sleeps).toHaveLength(2);
      await using down = await testHub(page, { tokenScript: fault, retry: { maxAttempts: 2 } });
      const error = await readAll(down.hub, 'users').catch((failure: unknown) => failure);
      expect(error).toMatchObject({
        code: 'HUB_TOKEN_UNAVAILABLE',
        message: expect.stringMatching(what) as string,
        remedy: expect.stringMatching(remedy) as string,
      });
    },
  );

  it.each([500, 503, 429])('is asked again after %i, at the time of its Retry-After', async (status) => {
    let asked = 0;
    await using test = await testHub(page, {
      tokenScript: (_, response) => {
        asked += 1;
        if (asked === 1) sendJson(response, 'busy', { status, headers: { 'retry-after': '2' } });
        else sendJson(response, { access_token: 't' });
      },
    });
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    expect(test.sleeps).toEqual([2000]);
  });

  it('is HUB_TOKEN_UNAVAILABLE with hub.tokenUrl in the remedy when it is unreachable', async () => {
    const gone = await serve(page);
    await gone[Symbol.asyncDispose]();
    await using test = await testHub(page, { tokenUrl: `${gone.origin}/token?key=hidden` });
    const error = await readAll(test.hub, 'users').catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      code: 'HUB_TOKEN_UNAVAILABLE',
      message: expect.stringContaining('refused') as string,
      remedy: expect.stringContaining('hub.tokenUrl') as string,
    });
    expect(String(error)).not.toContain('hidden');
  });
});
