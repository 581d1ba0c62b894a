import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { modelHub } from './support/model-hub.ts';
import {
  answer,
  exchange,
  goneOrigin,
  inTurn,
  LAST_PAGE,
  PAGE,
  readAll,
  serve,
  testHub,
  type Script,
} from './support/scripted-hub.ts';

const says = (text: string): string => expect.stringContaining(text) as string;
const once = { retry: { maxAttempts: 1 } };
const twice = { retry: { maxAttempts: 2 } };

const encoded =
  (status: number, encoding: string, body: Buffer, headers = LAST_PAGE): Script =>
  (_, response) => {
    response.writeHead(status, { 'content-encoding': encoding, 'retry-after': '7', ...headers }).end(body);
  };
const reset: Script = (_, response) => void response.destroy();
const broken: Script = (_, response) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('{"users":[', () => response.destroy());
};
const endless: Script = (_, response) => {
  const pour = (): void => {
    while (!response.destroyed && response.write('x'.repeat(10_000)));
  };
  response.on('drain', pour);
  pour();
};
const BIG = JSON.stringify({ users: [{ sourcedId: 'a', text: 'x'.repeat(3_000_000) }] });
const DAMAGED = gzipSync('{"users":[]}').subarray(0, 15);

it.each<[string, Script]>([
  ['a 500', answer(500)],
  ['a 429 in HTML', answer(429, '<h1>slow down</h1>', { 'content-type': 'text/html' })],
  ['a 408', answer(408)],
  ['a connection reset before the answer', reset],
  ['a connection broken in the body', broken],
  ['truncated JSON', answer(200, '{"users":[{"sourcedId":"a"')],
  ['a 200 without a body', answer(200, '')],
  ['damaged gzip', encoded(200, 'gzip', DAMAGED)],
  ['a stalled answer', () => undefined],
])('a request is repeated after a failure that may pass: %s', async (_, failure) => {
  const { ids, requests, sleeps } = await exchange([failure, PAGE], { requestTimeoutMs: 2_000 });
  expect({ ids, requests, sleeps }).toEqual({ ids: ['a'], requests: 2, sleeps: [0] });
});

it('a failing request is repeated a bounded number of times, after random and growing pauses', async () => {
  const retry = { maxAttempts: 5, firstMs: 100, longestMs: 500 };
  expect(await exchange([answer(500)], { random: () => 0.999999, retry })).toMatchObject({
    error: { code: 'HUB_UNAVAILABLE', reaction: 'retry' },
    requests: 5,
    sleeps: [99, 199, 399, 499],
  });
});

it.each([
  ['in seconds sets how long a request waits', 503, '7', 7_000],
  ['as a date sets how long a request waits', 503, 'Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
  ['of a year is cut to five minutes', 503, '31536000', 300_000],
  ['that is unreadable is ignored', 503, '-5', 0],
  ['makes a 401 a failure that may pass', 401, '3', 3_000],
  ['makes a 403 a failure that may pass', 403, '3', 3_000],
])('a Retry-After %s', async (_, status, value, pauseMs) => {
  const busy = answer(status, {}, { 'retry-after': value });
  expect(await exchange([busy, PAGE])).toMatchObject({ ids: ['a'], sleeps: [pauseMs], tokens: [{}] });
});

it.each([
  ['a rate limit', answer(429), 'HTTP 429', 'hub.maxConcurrentRequests'],
  ['a time-out', () => undefined, 'within hub.requestTimeout (0.5 s)', 'raise hub.requestTimeout'],
])('a lasting failure of the hub names the setting to look at: %s', async (_, script, message, remedy) => {
  const { error } = await exchange([script], { ...once, requestTimeoutMs: 500 });
  expect(error).toMatchObject({ message: says(message), remedy: says(remedy) });
});

it('a request that waits to be repeated ends when its signal aborts', async () => {
  const stop = new AbortController();
  const { error } = await exchange([answer(503, {}, { 'retry-after': '60' })], {
    reads: [{ options: { signal: stop.signal } }],
    sleep: undefined,
    onEvent: ({ type }) => type === 'request-retried' && stop.abort(new Error('stopping')),
  });
  expect(error).toEqual(new Error('stopping'));
});

it.each<[string, Script, string, RegExp]>([
  ['404', answer(404), 'HUB_NOT_OFFERED', /baseUrl/],
  ['400', answer(400), 'HUB_REQUEST_REFUSED', /hub\.pageSize/],
  ['422', answer(422), 'HUB_REQUEST_REFUSED', /hub\.pageSize/],
  ['302', answer(302, {}, { location: '/x?secret=1' }), 'HUB_REQUEST_REFUSED', /target of the redirect/],
  ['304', answer(304), 'HUB_REQUEST_REFUSED', /store no answers/],
  ['another encoding than gzip', encoded(404, 'br', DAMAGED), 'HUB_NOT_OFFERED', /./],
  ['a 404 in damaged gzip', encoded(404, 'gzip', DAMAGED), 'HUB_NOT_OFFERED', /./],
])('a lasting failure of a request has a remedy, and no repetition: %s', async (_, refusal, code, remedy) => {
  const { error, requests } = await exchange([refusal]);
  expect(error).toMatchObject({ code, remedy: expect.stringMatching(remedy) as string });
  expect(requests).toBe(1);
});

it('an error of the hub shows no query, no filter, no token and no id of a parent', async () => {
  const { error, events } = await exchange([answer(500)], {
    ...once,
    reads: [{ of: 'afterschool-users', options: { parentId: 'child-7', modifiedAfterMs: 0 } }],
  });
  expect(error).toMatchObject({ message: says('/afterschools/{id}/users') });
  const shown = `${String(error)} ${JSON.stringify([error, events])}`;
  expect(shown).not.toMatch(/\?|dateLast|token-1|child-7/);
});

it.each([
  ['refuses connections', goneOrigin, 'refused', 1],
  ['does not exist', () => 'http://no-such-host.invalid', 'host name cannot be resolved', 1],
  // It will fail again.
  ['speaks http, not https', (origin: string) => origin.replace('http:', 'https:'), 'TLS failed', 0],
])('the error about a hub that %s shows the address and the setting', async (_, at, why, retries) => {
  await using other = await serve(PAGE);
  const baseUrl = await at(other.origin);
  const { error, sleeps } = await exchange([PAGE], { ...twice, baseUrl });
  const remedy = says('hub.baseUrl');
  expect(error).toMatchObject({ code: 'HUB_UNREACHABLE', message: says(`${baseUrl}/ims`), remedy });
  expect(error).toMatchObject({ message: says(why) });
  expect(sleeps).toHaveLength(retries);
});

it.each([
  ['huge', answer(200, BIG)],
  ['endless', endless],
  ['a gzip bomb', encoded(200, 'gzip', gzipSync(BIG))],
])('an answer of the hub that is %s is cut off', async (_, script) => {
  const { error } = await exchange([script], { ...twice, maxResponseBytes: 1_000_000 });
  expect(error).toMatchObject({ code: 'HUB_RESPONSE_TOO_LARGE' });
});

it('an answer of the hub in gzip is read', async () => {
  const page = encoded(200, 'gzip', gzipSync('{"users":[{"sourcedId":"a"}]}'));
  expect((await exchange([page])).ids).toEqual(['a']);
});

it('an error of the hub with too large a body keeps its status, and makes no page smaller', async () => {
  const long = encoded(503, 'identity', Buffer.alloc(300_000, 'x'));
  expect(await exchange([long], { ...twice, pageSize: 400 })).toMatchObject({
    error: { code: 'HUB_UNAVAILABLE', status: 503 },
    limits: [400, 400],
    sleeps: [7000],
  });
});

// After a page that was too large, a single row shows whether the hub honours the limit; the pages after it grow.
it.each<[string, Script, readonly number[]]>([
  ['too large', answer(200, BIG), [400, 1, 2, 4, 8, 16, 32, 64, 128, 200, 100]],
  ['a time-out', () => undefined, [400, 200, 100, 100, 100]],
  ['a 504', answer(504), [400, 200, 100, 100, 100]],
])('pages of this and later scans are halved after an answer that is %s', async (_, failure, limits) => {
  const ids = Array.from({ length: 300 }, (__, n) => String(1000 + n));
  const model = modelHub({ ids });
  const hub: Script = (request, response) =>
    Number(request.query.get('limit')) > 130 ? failure(request, response) : model(request, response);
  const seen = await exchange([hub], {
    pageSize: 400,
    maxResponseBytes: 1_000_000,
    requestTimeoutMs: 1_000,
    reads: [{}, {}],
  });
  expect(seen.outcomes[0]?.ids).toEqual(ids);
  expect(seen.limits).toEqual([...limits, 100, 100, 100]);
});

it('answers that come too late make pages smaller, down to 50 rows', async () => {
  const { limits } = await exchange([answer(504)], { pageSize: 400, retry: { maxAttempts: 5 } });
  expect(limits).toEqual([400, 200, 100, 50, 50]);
});

it.each([
  ['fail', answer(500), 4],
  ['are not answered', reset, 4],
  ['reach nobody', PAGE, 0],
])('the circuit breaker opens once when several requests in a row %s', async (_, script, sent) => {
  const settings = sent === 0 ? { baseUrl: await goneOrigin() } : {};
  const breaker = { failures: 4, firstMs: 60_000 };
  const reads = [{}, {}, { of: 'orgs' as const }];
  const { error, events, requests } = await exchange([script], { breaker, ...twice, reads, ...settings });
  expect(error).toMatchObject({
    code: 'HUB_CIRCUIT_OPEN',
    reaction: 'retry',
    remedy: expect.stringMatching(
      /^"rollcall run" asks the hub again by itself; repeat any other command when the hub answers\. /,
    ) as string,
  });
  expect(requests).toBe(sent);
  expect(events.filter(({ type }) => type === 'circuit-opened')).toHaveLength(1);
});

it('the circuit breaker is reported once when it opens, and closes after one good request', async () => {
  const breaker = { failures: 2, firstMs: 50 };
  const fails = Array(4).fill(answer(500)) as Script[];
  await using test = await testHub(inTurn(...fails, PAGE), { breaker, ...twice });
  const read = () => readAll(test.hub, 'users').catch(() => null);
  expect(await read()).toBeNull();
  await expect.poll(read, { interval: 20 }).toMatchObject({ ids: ['a'] });
  const circuit = test.events.filter(({ type }) => type.startsWith('circuit'));
  expect(circuit).toMatchObject([{ type: 'circuit-opened' }, { type: 'circuit-closed' }]);
});

it.each([404, 429, 401, 403])('the circuit breaker stays closed after HTTP %i', async (status) => {
  const breaker = { failures: 1, firstMs: 60_000 };
  const scripts = [answer(status), answer(status, {}, { 'retry-after': '1' })];
  const { requests } = await exchange(scripts, { breaker, ...once, reads: [{}, {}, {}] });
  expect(requests).toBe(3);
});

const incremental = { reads: [{ options: { modifiedAfterMs: 0 } }] };
const nothing = answer(404, { imsx_codeMajor: 'failure', imsx_codeMinor: 'unknownobject' });
const strict: Script = (request, response) =>
  (request.query.has('filter') ? nothing : PAGE)(request, response);

const noRows = { end: { reason: 'no-rows' }, pages: [{ hubTimeMs: expect.any(Number) as number }] };
const notOffered = { error: { code: 'HUB_NOT_OFFERED' } };

it.each<[string, Script[], object]>([
  ['has no changes for an incremental sync', [strict], { ...noRows, limits: [3, 1] }],
  ['does not offer the collection if all is 404', [nothing], { ...notOffered, limits: [3, 1] }],
  ['is asked again if it fails', [nothing, answer(503), nothing, PAGE], { ...noRows, limits: [3, 1, 3, 1] }],
])('a hub that answers 404 if a filter selects nothing %s', async (_, scripts, seen) => {
  expect(await exchange(scripts, incremental)).toMatchObject(seen);
});
