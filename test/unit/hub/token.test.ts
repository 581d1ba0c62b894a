import { describe, expect, it } from 'vitest';
import { modelHub } from './support/model-hub.ts';
import { answer, inTurn, readAll, sendJson, serve, testHub, type Script } from './support/scripted-hub.ts';

const page: Script = (_, response) =>
  sendJson(response, { users: [{ sourcedId: 'a' }] }, { headers: { link: '<x>; rel="first"' } });

describe('a request for a token', () => {
  it('with basic sends id and secret form-encoded, as RFC 6749 2.3.1 says', async () => {
    await using test = await testHub(page, {
      clientId: 'my id',
      clientSecret: { reveal: () => 'p:ä+%' },
      scope: 'a b',
    });
    await readAll(test.hub, 'users');
    const pair = Buffer.from('my+id:p%3A%C3%A4%2B%25').toString('base64');
    expect(test.tokens()[0]?.authorization).toBe(`Basic ${pair}`);
    expect([...new URLSearchParams(test.tokens()[0]?.body)]).toEqual([
      ['grant_type', 'client_credentials'],
      ['scope', 'a b'],
    ]);
  });

  it('with post sends them in the body, and no empty scope', async () => {
    await using test = await testHub(page, { clientAuth: 'post' });
    await readAll(test.hub, 'users');
    expect(test.tokens()[0]?.authorization).toBeUndefined();
    expect([...new URLSearchParams(test.tokens()[0]?.body)]).toEqual([
      ['grant_type', 'client_credentials'],
      ['client_id', 'id'],
      ['client_secret', 's3cret'],
    ]);
  });

  it('is sent once for many concurrent scans', async () => {
    await using test = await testHub(page);
    await Promise.all(Array.from({ length: 8 }, () => readAll(test.hub, 'users')));
    await readAll(test.hub, 'users');
    expect(test.tokens()).toHaveLength(1);
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
      const token = { access_token: 't', expires_in: expiresIn };
      const tokenScript = inTurn(answer(200, token), answer(200, { ...token, access_token: 'token-2' }));
      await using test = await testHub(page, { tokenScript, now: () => nowMs });
      await readAll(test.hub, 'users');
      nowMs = 1_000_000 + usedAtMs;
      await readAll(test.hub, 'users');
      expect(test.tokens()).toHaveLength(1);
      nowMs = 1_000_000 + renewedAtMs;
      await readAll(test.hub, 'users');
      expect(test.tokens()).toHaveLength(2);
      expect(test.data().at(-1)?.authorization).toBe('Bearer token-2');
    },
  );
});

describe('a token that the hub refuses', () => {
  it.each([401, 403])('is renewed once if it has expired (%i), and the scan continues', async (status) => {
    const expired = new Set<string>();
    await using test = await testHub((request, response) => {
      if (expired.has(request.authorization ?? '')) sendJson(response, {}, { status });
      else void page(request, response);
    });
    await readAll(test.hub, 'users');
    expired.add('Bearer token-1');
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    expect(test.tokens()).toHaveLength(2);
    expect(test.sleeps).toEqual([]);
    expect(test.events).toContainEqual({
      type: 'token-obtained',
      reason: 'refused-by-hub',
      lifetimeMs: 3_600_000,
    });
  });

  it.each([
    [401, 7],
    [403, 1],
  ])(
    'is an error for a person if it is fresh (%i), after %i attempts with one token',
    async (status, attempts) => {
      await using test = await testHub((_, response) => sendJson(response, {}, { status }), {});
      await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
        code: 'HUB_FORBIDDEN',
        reaction: 'person',
      });
      expect(test.tokens()).toHaveLength(1);
      expect(test.data()).toHaveLength(attempts);
    },
  );

  it('is not renewed at each attempt of a forbidden collection', async () => {
    await using test = await testHub((request, response) => {
      if (request.path.endsWith('/users')) void page(request, response);
      else sendJson(response, {}, { status: 403 });
    });
    await readAll(test.hub, 'users');
    for (let poll = 0; poll < 4; poll += 1) {
      await expect(readAll(test.hub, 'orgs')).rejects.toMatchObject({ code: 'HUB_FORBIDDEN' });
    }
    expect(test.tokens()).toHaveLength(2);
  });
});

describe('a refusal that passes in seconds', () => {
  const ids = Array.from({ length: 60 }, (_, n) => String(1000 + n));
  const model = modelHub({ ids, cursor: 'honours', idFilter: 'honours', links: 'right', total: 'right' });

  /** Scans 20 pages that take 600 ms each. `accepts`: by the time since the issue of the token. */
  async function scanFor12Seconds(options: {
    tokenMs: number;
    accepts: (ageMs: number) => boolean;
    /** Returns the same token until it expires. */
    caches?: 'with the time left' | 'with its whole lifetime';
  }) {
    let nowMs = 1_000_000;
    const { tokenMs, accepts, caches } = options;
    const issuedAtMs: number[] = [];
    const tokenScript: Script = (_, response) => {
      const latest = issuedAtMs.at(-1) ?? 0;
      const isCached = caches !== undefined && nowMs < latest + tokenMs;
      if (!isCached) issuedAtMs.push(nowMs);
      const leftMs = isCached && caches === 'with the time left' ? latest + tokenMs - nowMs : tokenMs;
      sendJson(response, { access_token: `token-${issuedAtMs.length}`, expires_in: leftMs / 1000 });
    };
    const delivered: (string | null)[] = [];
    await using test = await testHub(
      (request, response) => {
        const number = Number(/\d+$/.exec(request.authorization ?? '')?.[0]);
        const ageMs = nowMs - (issuedAtMs[number - 1] ?? 0);
        if (!accepts(ageMs)) return sendJson(response, {}, { status: 401 });
        delivered.push(request.query.get('afterSourcedId'));
        nowMs += 600;
        return model(request, response);
      },
      {
        tokenScript,
        now: () => nowMs,
        random: () => 0.5,
        sleep: (ms) => {
          nowMs += ms;
          return Promise.resolve();
        },
      },
    );
    const scan = await readAll(test.hub, 'users');
    return { scan, delivered, issuedAtMs };
  }

  it.each([
    ['the hub accepts only 1 s after its issue', { accepts: (ageMs: number) => ageMs >= 1000 }],
    [
      'a late token service returns until it expires, with the time left',
      { accepts: (ageMs: number) => ageMs < 5500, caches: 'with the time left' as const },
    ],
    [
      'a late token service returns until it expires, with its whole lifetime',
      { accepts: (ageMs: number) => ageMs < 5500, caches: 'with its whole lifetime' as const },
    ],
  ])('costs a scan no page where it is of a token that %s', async (_, behaviour) => {
    const { scan, delivered, issuedAtMs } = await scanFor12Seconds({ tokenMs: 8000, ...behaviour });
    expect(scan.ids).toEqual(ids);
    expect(delivered).toHaveLength(20);
    // No good token is thrown away: each one is used until it expires, or the hub refuses it.
    for (const [at, ms] of issuedAtMs.entries()) {
      if (at > 0) expect(ms - (issuedAtMs[at - 1] ?? 0)).toBeGreaterThanOrEqual(5500);
    }
  });

  it.each([401, 403, 429])(
    'is waited for as long as Retry-After says (%i), with the same token',
    async (status) => {
      let asked = 0;
      await using test = await testHub((request, response) => {
        asked += 1;
        if (asked === 2) sendJson(response, {}, { status, headers: { 'retry-after': '3' } });
        else void page(request, response);
      });
      await readAll(test.hub, 'users');
      expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
      expect(test.sleeps).toEqual([3000]);
      expect(test.tokens()).toHaveLength(1);
    },
  );

  it('of a forbidden collection does not cost a request for a token each time where the service has but one', async () => {
    const script: Script = ({ path }, response) =>
      sendJson(response, { users: [] }, { status: path.endsWith('/users') ? 200 : 401 });
    const tokenScript = answer(200, { access_token: 'the-only-one', expires_in: 3600 });
    await using test = await testHub(script, { tokenScript, retry: { maxAttempts: 2 } });
    await readAll(test.hub, 'users');
    await expect(readAll(test.hub, 'orgs')).rejects.toMatchObject({ code: 'HUB_FORBIDDEN' });
    for (let poll = 0; poll < 10; poll += 1) await readAll(test.hub, 'users');
    expect(test.tokens()).toHaveLength(3);
  });

  it('is retried like a 503 where it has Retry-After: within bounds, and the circuit stays closed', async () => {
    await using test = await testHub(
      (_, response) => sendJson(response, {}, { status: 403, headers: { 'retry-after': '3' } }),
      { retry: { maxAttempts: 4 }, breaker: { failures: 2 } },
    );
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      reaction: 'retry',
    });
    expect(test.sleeps).toEqual([3000, 3000, 3000]);
  });

  it('of an expired token with Retry-After is waited for, and the next request has a new one', async () => {
    let nowMs = 0;
    await using test = await testHub(
      (request, response) => {
        if (nowMs < 61_000 || request.authorization === 'Bearer token-2') void page(request, response);
        else sendJson(response, {}, { status: 401, headers: { 'retry-after': '1' } });
      },
      { now: () => nowMs },
    );
    await readAll(test.hub, 'users');
    nowMs = 61_000;
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    expect(test.sleeps).toEqual([1000]);
    expect(test.tokens()).toHaveLength(2);
  });
});

describe('a token endpoint that refuses', () => {
  const secret = { error: 'invalid_client', error_description: 's3cret is wrong' };
  it.each([
    [answer(401, secret), /invalid_client/, /clientSecret/],
    [answer(400, { error: 'invalid_scope' }), /invalid_scope/, /hub\.scope/],
    [answer(400, { error: 'unauthorized_client' }), /unauthorized_client/, /client_credentials/],
  ])(
    'is reported with its remedy, without the secret, and not asked again: %#',
    async (tokenScript, what, remedy) => {
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

  it('is asked ever more rarely about wrong credentials, and the error has the time until then', async () => {
    let nowMs = 0;
    const tokenScript = answer(401, { error: 'invalid_client' });
    await using test = await testHub(page, { now: () => nowMs, tokenScript });
    const read = () => readAll(test.hub, 'users');
    await expect(read()).rejects.toMatchObject({ retryAfterMs: 15_000 });
    nowMs = 4_000;
    await expect(read()).rejects.toMatchObject({ retryAfterMs: 11_000 });
    for (; nowMs < 3_600_000; nowMs += 1000)
      await expect(read()).rejects.toMatchObject({ code: 'HUB_TOKEN_REFUSED' });
    expect(test.tokens().length).toBeGreaterThan(5);
    expect(test.tokens().length).toBeLessThan(15);
  });

  const html = { 'content-type': 'text/html' };
  it.each([
    ['a login page', answer(200, '<!doctype html><p>Log in', html), /HTML page/, /hub\.tokenUrl/],
    ['truncated JSON', answer(200, '{"access_token":"to'), /not a JSON object/, /hub\.tokenUrl/],
    ['an empty body', answer(200, ''), /not a JSON object/, /hub\.tokenUrl/],
    ['no access_token', answer(200, { token: 'x' }), /no usable access_token/, /hub\.tokenUrl/],
    [
      'a token that would break the header',
      answer(200, { access_token: 'a\r\nx: y' }),
      /no usable access_token/,
      /./,
    ],
    [
      'tokens of another type',
      answer(200, { access_token: 'a', token_type: 'mac' }),
      /other than Bearer/,
      /Bearer/,
    ],
    ['a 429', answer(429, 'busy'), /HTTP 429/, /check the token service/],
    ['a 404', answer(404, '<h1>Not found</h1>'), /HTTP 404/, /hub\.tokenUrl/],
    ['a 401 of a proxy', answer(401, '<h1>No'), /HTTP 401/, /clientSecret/],
    ['a 403 in HTML', answer(403, '<html>No'), /HTTP 403/, /clientSecret/],
    ['an unknown error code', answer(400, { error: 'try_later' }), /HTTP 400/, /hub\.scope/],
    ['a redirect', answer(302, '', { location: 'http://127.0.0.1:1/' }), /redirect/, /hub\.tokenUrl/],
  ])('is asked again after %s, and the error says what to check', async (_, fault, what, remedy) => {
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
  });

  it.each([
    [400, { error: 'invalid_request' }],
    [401, { error: 'invalid_client' }],
    [403, {}],
    [429, {}],
    [500, 'busy'],
    [503, 'busy'],
  ])('is asked again after %i, at the time of its Retry-After', async (status, body) => {
    const busy = answer(status, body, { 'retry-after': '2' });
    await using test = await testHub(page, { tokenScript: inTurn(busy, answer(200, { access_token: 't' })) });
    expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
    expect([test.tokens().length, test.sleeps]).toEqual([2, [2000]]);
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
