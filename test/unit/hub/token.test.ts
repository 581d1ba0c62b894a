import { expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import { tokenGate } from '../../../src/hub/token-gate.ts';
import { modelHub } from './support/model-hub.ts';
import {
  answer,
  exchange,
  goneOrigin,
  inTurn,
  PAGE,
  readAll,
  sendJson,
  START_MS,
  testHub,
  type Script,
} from './support/scripted-hub.ts';

const once = { retry: { maxAttempts: 1 } };
const token = (name: string, fields: object = { expires_in: 3600 }): Script =>
  answer(200, { access_token: name, ...fields });
/** Accepts these tokens alone. */
const accepting =
  (status: number, ...tokens: readonly string[]): Script =>
  (request, response) =>
    (tokens.includes(request.authorization?.slice(7) ?? '') ? PAGE : answer(status))(request, response);

const basic = Buffer.from('my+id:p%3A%C3%A4%2B%25').toString('base64');
it.each([
  // As RFC 6749 2.3.1 says.
  ['basic', 'a b', `Basic ${basic}`, 'grant_type=client_credentials&scope=a+b'],
  ['post', '', undefined, 'grant_type=client_credentials&client_id=my+id&client_secret=p%3A%C3%A4%2B%25'],
] as const)('a token request by %s has id, secret and scope', async (clientAuth, scope, header, body) => {
  const client = { clientId: 'my id', clientSecret: { reveal: () => 'p:ä+%' } };
  const { tokens } = await exchange([PAGE], { ...client, clientAuth, scope });
  expect(tokens.map(({ authorization, body: sent }) => [authorization, sent])).toEqual([[header, body]]);
});

it.each([
  ['answered', {}, 'fulfilled'],
  ['refused', { ...once, tokenScript: answer(503) }, 'rejected'],
])('many scans at a time send one request for a token, which is %s', async (_, options, outcome) => {
  await using test = await testHub(PAGE, options);
  const scans = Array.from({ length: 8 }, () => readAll(test.hub, 'users'));
  expect((await Promise.allSettled(scans)).map(({ status }) => status)).toEqual(Array(8).fill(outcome));
  expect(test.tokens()).toHaveLength(1);
});

it.each([
  [3600, 3_569_000],
  ['3600', 3_569_000],
  [8, 5_000],
  [0, 4_000],
  [undefined, 269_000],
  ['soon', 269_000],
])('a token with expires_in %s is renewed shortly before it expires', async (expires_in, usedAtMs) => {
  const tokenScript = inTurn(token('one', { expires_in }), token('two', { expires_in }));
  const reads = [{}, { atMs: usedAtMs }, { atMs: usedAtMs + 2_000 }];
  const { asked } = await exchange([PAGE], { tokenScript, reads });
  expect(asked.map(({ authorization }) => authorization)).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
});

it.each([401, 403])('a scan goes on with a new token if the old one has expired (%i)', async (status) => {
  const scripts = [PAGE, answer(status), accepting(status, 'token-2')];
  const { ids, tokens, sleeps, events } = await exchange(scripts, { reads: [{}, {}] });
  expect([ids, tokens.length, sleeps]).toEqual([['a'], 2, []]);
  const reason = 'refused-by-hub';
  expect(events).toContainEqual({ type: 'token-obtained', reason, lifetimeMs: 3_600_000 });
});

it.each([
  [401, 7],
  [403, 1],
])('a fresh token that the hub refuses (%i) needs a person after %i attempts', async (status, attempts) => {
  const { error, tokens, requests } = await exchange([answer(status)]);
  expect(error).toMatchObject({ code: 'HUB_FORBIDDEN', reaction: 'person' });
  expect([tokens.length, requests]).toEqual([1, attempts]);
});

it.each([
  ['once in five minutes', 403, 'token-2', 2],
  ['once a minute by the same token', 401, 'the-only-one', 3],
])('a token that the hub refuses for one collection is renewed %s', async (_, status, name, renewals) => {
  const script: Script = (request, response) =>
    (request.path.endsWith('/users') ? PAGE : answer(status))(request, response);
  const reads = [0, 10_000, 20_000].flatMap((atMs) => [{ atMs }, { of: 'orgs' as const }, {}]);
  const tokenScript = name === 'the-only-one' ? token(name) : undefined;
  const seen = await exchange([script], { ...once, ...(tokenScript && { tokenScript }), reads });
  expect(seen.outcomes[1]).toMatchObject({ error: { code: 'HUB_FORBIDDEN' } });
  expect(seen.tokens).toHaveLength(renewals);
});

it('a token that the hub refuses with a Retry-After is replaced after that time', async () => {
  const expired = answer(401, {}, { 'retry-after': '1' });
  const scripts = [PAGE, expired, accepting(401, 'token-2')];
  const { ids, sleeps, tokens, requests } = await exchange(scripts, { reads: [{}, { atMs: 61_000 }] });
  expect({ ids, sleeps, tokens: tokens.length, requests }).toEqual({
    ids: ['a'],
    sleeps: [1000],
    tokens: 2,
    requests: 3,
  });
});

const ids = Array.from({ length: 60 }, (_, n) => String(1000 + n));
const model = modelHub({ ids });
const TOKEN_MS = 8000;

const isASecondOld = (ageMs: number) => ageMs >= 1000;
const isYoung = (ageMs: number) => ageMs < 5500;

it.each([
  ['the hub accepts a token only 1 s after its issue', isASecondOld, null],
  ['the token service returns a refused token again, with the time that it has left', isYoung, 'left'],
  ['the token service returns a refused token again, with its whole lifetime', isYoung, 'whole'],
])('a scan reads all pages although %s', async (_, accepts, caches) => {
  let nowMs = START_MS;
  const issuedAtMs: number[] = [];
  let delivered = 0;
  const seen = await exchange(
    [
      (request, response) => {
        const issuedMs = issuedAtMs[Number(/\d+$/.exec(request.authorization ?? '')?.[0]) - 1] ?? 0;
        if (!accepts(nowMs - issuedMs)) return answer(401)(request, response);
        delivered += 1;
        nowMs += 600;
        return model(request, response);
      },
    ],
    {
      tokenScript: (__, response) => {
        const latestMs = issuedAtMs.at(-1) ?? 0;
        const isCached = caches !== null && nowMs < latestMs + TOKEN_MS;
        if (!isCached) issuedAtMs.push(nowMs);
        const leftMs = isCached && caches === 'left' ? latestMs + TOKEN_MS - nowMs : TOKEN_MS;
        sendJson(response, { access_token: `token-${issuedAtMs.length}`, expires_in: leftMs / 1000 });
      },
      now: () => nowMs,
      random: () => 0.5,
      sleep: async (ms) => void (nowMs += ms),
    },
  );
  expect([seen.ids, delivered]).toEqual([ids, 20]);
  // No good token is thrown away: each one is used until it expires, or the hub refuses it.
  for (const [at, ms] of issuedAtMs.slice(1).entries())
    expect(ms - (issuedAtMs[at] ?? 0)).toBeGreaterThanOrEqual(5500);
});

const REFUSED = 'HUB_TOKEN_REFUSED';
const refusing = (status: number, error: string) => answer(status, { error, error_description: 's3cret' });
const login = answer(200, '<!doctype html><p>Log in', { 'content-type': 'text/html' });
it.each<[string, Script, RegExp, RegExp, string?]>([
  ['wrong credentials', refusing(401, 'invalid_client'), /invalid_client/, /clientSecret/, REFUSED],
  ['a wrong scope', refusing(400, 'invalid_scope'), /invalid_scope/, /hub\.scope/, REFUSED],
  ['no right to the grant', refusing(400, 'unauthorized_client'), /unauth/, /client_credentials/, REFUSED],
  ['a login page', login, /not a JSON object/, /not a web page/],
  ['truncated JSON', answer(200, '{"access_token":"to'), /not a JSON object/, /hub\.tokenUrl/],
  ['no access_token', answer(200, { token: 'x' }), /no usable access_token/, /hub\.tokenUrl/],
  ['a token that would break the header', token('a\r\nx: y'), /no usable access_token/, /./],
  ['tokens of another type', token('a', { token_type: 'mac' }), /other than Bearer/, /Bearer/],
  ['a 429', answer(429, 'busy'), /HTTP 429/, /check the token service/],
  ['a 404', answer(404, '<h1>Not found</h1>'), /HTTP 404/, /hub\.tokenUrl/],
  ['a 401 of a proxy', answer(401, '<h1>No'), /HTTP 401/, /clientSecret/],
  ['an unknown error code', refusing(400, 'try_later'), /HTTP 400/, /hub\.scope/],
  ['a redirect', answer(302, '', { location: 'http://127.0.0.1:1/' }), /redirect/, /hub\.tokenUrl/],
])('a token endpoint that answers with %s is asked again', async (_, fault, what, remedy, code) => {
  const tokenScript = inTurn(fault, token('t'));
  const seen = await exchange([PAGE], { ...once, tokenScript, reads: [{}, { atMs: 16_000 }] });
  const [{ error } = {}] = seen.outcomes;
  expect(error).toMatchObject({
    code: code ?? 'HUB_TOKEN_UNAVAILABLE',
    retryable: code === undefined,
    message: expect.stringMatching(what) as string,
    remedy: expect.stringMatching(remedy) as string,
  });
  expect(String(error) + JSON.stringify([error, seen.events])).not.toContain('s3cret');
  expect(seen.ids).toEqual(['a']);
});

it.each([
  [401, { error: 'invalid_client' }],
  [403, {}],
  [503, 'busy'],
])('a token endpoint is asked again after %i, at the time of its Retry-After', async (status, body) => {
  const tokenScript = inTurn(answer(status, body, { 'retry-after': '20' }), token('t'));
  expect(await exchange([PAGE], { tokenScript })).toMatchObject({
    ids: ['a'],
    tokens: [{}, {}],
    sleeps: [20_000],
  });
});

it('no collection asks a token endpoint before its Retry-After, which each error has', async () => {
  const tokenScript = answer(503, {}, { 'retry-after': '20' });
  const reads = [{}, { of: 'orgs' as const, atMs: 19_000 }, { atMs: 20_000 }];
  const { outcomes, tokens } = await exchange([PAGE], { ...once, tokenScript, reads });
  expect(outcomes).toMatchObject(
    [20_000, 1_000, 20_000].map((retryAfterMs) => ({ error: { retryAfterMs } })),
  );
  expect(tokens).toHaveLength(2);
});

it('time-outs of a token endpoint make no page smaller', async () => {
  const tokenScript = inTurn(answer(408), answer(504), token('t'));
  expect((await exchange([PAGE], { pageSize: 400, tokenScript })).limits).toEqual([400]);
});

it('the error about an unreachable token endpoint names hub.tokenUrl, and shows no query', async () => {
  const { error } = await exchange([PAGE], { tokenUrl: `${await goneOrigin()}/token?key=hidden` });
  expect(error).toMatchObject({
    code: 'HUB_TOKEN_UNAVAILABLE',
    message: expect.stringContaining('refused') as string,
    remedy: expect.stringContaining('hub.tokenUrl') as string,
  });
  expect(String(error)).not.toContain('hidden');
});

const failure = (
  status: number,
  code: 'HUB_TOKEN_REFUSED' | 'HUB_TOKEN_UNAVAILABLE',
  retryAfterMs?: number,
) => new HubError(code, 'No token', { remedy: 'Look.', status, retryAfterMs });

it.each([
  ['HUB_TOKEN_UNAVAILABLE', 503, [500, 1000, 2000], 60_000],
  ['HUB_TOKEN_UNAVAILABLE', 400, [15_000, 30_000, 60_000], 600_000],
  ['HUB_TOKEN_UNAVAILABLE', 403, [15_000, 30_000, 60_000], 600_000],
  ['HUB_TOKEN_REFUSED', 401, [15_000, 30_000, 60_000], 600_000],
] as const)('the wait for a token endpoint grows to a limit: %s, %i', (code, status, first, longestMs) => {
  const gate = tokenGate(() => 0);
  const waits = (count: number) =>
    Array.from({ length: count }, () => gate.shut(failure(status, code), 'secret').retryAfterMs);
  expect(waits(3)).toEqual(first);
  expect(waits(20).at(-1)).toBe(longestMs);
  gate.open();
  expect(waits(3)).toEqual(first);
});

it('a long wait for a failing token endpoint is left to the sync', () => {
  const gate = tokenGate(() => 0);
  const failures = Array.from({ length: 8 }, () =>
    gate.shut(failure(401, 'HUB_TOKEN_UNAVAILABLE'), 'secret'),
  );
  expect(failures.map(({ retryable }) => retryable)).toEqual([true, true, ...Array(6).fill(false)]);
  expect(() => gate.requireOpen('secret')).toThrow(expect.objectContaining({ retryable: false }) as Error);
});

it('a Retry-After of a failing token endpoint counts for 5 minutes at most', () => {
  const gate = tokenGate(() => 0);
  const year = failure(503, 'HUB_TOKEN_UNAVAILABLE', 31_536_000_000);
  expect(gate.shut(year, 'secret').retryAfterMs).toBe(300_000);
});

it('a corrected secret is tried at once after a refusal, and not while the token endpoint is in trouble', async () => {
  const asksAfter = async (tokenScript: Script) => {
    let secret = 'wrong';
    const clientSecret = { reveal: () => secret };
    await using test = await testHub(PAGE, { ...once, now: () => START_MS, clientSecret, tokenScript });
    const read = () => readAll(test.hub, 'users').catch((error: unknown) => String(error));
    const asks: number[] = [];
    for (const next of ['wrong', 'wrong', 'right']) {
      secret = next;
      await read();
      asks.push(test.tokens().length);
    }
    return asks;
  };
  expect(await asksAfter(inTurn(answer(401, { error: 'invalid_client' }), token('t')))).toEqual([1, 1, 2]);
  expect(await asksAfter(inTurn(answer(401, 'No'), token('t')))).toEqual([1, 1, 2]);
  expect(await asksAfter(inTurn(answer(503), token('t')))).toEqual([1, 1, 1]);
});

it('a refusal says when the same secret is tried again', () => {
  const gate = tokenGate(() => START_MS);
  gate.shut(failure(401, 'HUB_TOKEN_REFUSED'), 'secret');
  const remedy =
    'Look. Rollcall tries a corrected secret at once. It does not try this secret again before 1994-11-06T08:49:15.000Z.';
  expect(() => gate.requireOpen('secret')).toThrow(expect.objectContaining({ remedy }) as Error);
});

it('the wait for a failing token endpoint ends when the clock is set back', () => {
  let nowMs = 86_400_000;
  const gate = tokenGate(() => nowMs);
  gate.shut(failure(401, 'HUB_TOKEN_UNAVAILABLE'), 'secret');
  expect(() => gate.requireOpen('secret')).toThrow('No token');
  nowMs = 0;
  expect(() => gate.requireOpen('secret')).not.toThrow();
});
