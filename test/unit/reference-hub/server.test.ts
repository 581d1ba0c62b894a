import { afterAll, expect, it } from 'vitest';
import type { Row } from './hub-client.ts';
import { ABSENCES, USERS, startTestHub } from './hub-client.ts';

const SECRET = 'p:w/ö&=';
const BASIC = { authorization: `Basic ${btoa(`rollcall:${encodeURIComponent(SECRET)}`)}` };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const GRANT = 'grant_type=client_credentials';

let worldMs = Date.now();
const options = { students: 30, clientSecret: SECRET, tokenLifetimeMs: 60_000, now: () => worldMs };
const test = await startTestHub(options);
afterAll(() => test[Symbol.asyncDispose]());

it.each<[body: string, headers: Record<string, string>, status: number, answer: object]>([
  [`${GRANT}&scope=a%20b`, BASIC, 200, { token_type: 'Bearer', expires_in: 60, scope: 'a b' }],
  [`${GRANT}&client_id=rollcall&client_secret=${encodeURIComponent(SECRET)}`, {}, 200, { expires_in: 60 }],
  [GRANT, {}, 401, { error: 'invalid_client' }],
  [`${GRANT}&client_id=rollcall&client_secret=wrong`, {}, 401, { error: 'invalid_client' }],
  ['grant_type=password', BASIC, 400, { error: 'unsupported_grant_type' }],
  ['{}', { ...BASIC, 'content-type': 'application/json' }, 400, { error: 'invalid_request' }],
])('the reference hub answers a token request, %s with %j, by %i', async (body, headers, status, answer) => {
  const init = { method: 'POST', body, headers: { ...FORM, ...headers } };
  const response = await fetch(test.hub.tokenUrl, init);
  expect([response.status, await response.json()]).toMatchObject([status, answer]);
  expect(response.headers.has('www-authenticate')).toBe(status === 401);
});

it('the reference hub serves nothing without a valid token (5 rule 1)', async () => {
  const ask = (headers: Record<string, string>) => fetch(`${test.hub.baseUrl}${USERS}`, { headers });
  const none = await ask({});
  expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="hub"']);
  const unknown = await ask({ authorization: 'Bearer nonsense' });
  expect([unknown.status, await unknown.text()]).toEqual([401, expect.stringMatching('unauthorisedrequest')]);
});

it('a token of the reference hub is valid for its lifetime, or until it is revoked (5 rule 3)', async () => {
  const statusAfter = async (ms: number): Promise<number> => {
    worldMs += ms;
    return (await test.get(ABSENCES)).status;
  };
  expect([await statusAfter(59_000), await statusAfter(2000)]).toEqual([200, 401]);
  await test.newToken();
  expect(await statusAfter(0)).toBe(200);
  test.hub.tokens.revokeAll();
  expect(await statusAfter(0)).toBe(401);
  await test.newToken();
});

async function control(path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(`${test.hub.controlUrl}/${path}`, init);
  return { status: answer.status, body: await answer.json() };
}

it('the control API of the reference hub shows state, requests without tokens, and rows', async () => {
  const paged = (await test.get(USERS, { limit: 10_000 })).rows;
  expect((await control('snapshot/users')).body).toEqual(paged);
  await control('faults', { set: [{ name: 'real-booleans', collection: 'users' }] });
  expect(((await control('snapshot/users')).body as Row[])[0]).toMatchObject({ enabledUser: true });
  expect((await control('snapshot/users?faults=false')).body).toEqual(paged);
  expect((await control('faults', { clear: true })).body).toEqual({ faults: [] });
  await control('requests/clear', {});
  await test.get(USERS, { limit: 1 });
  const requests = (await control('requests')).body;
  expect(requests).toMatchObject({ counts: { users: { '200': 1 } } });
  expect(JSON.stringify(requests)).not.toContain('Bearer');
  const state = { frozen: true, faults: [], counts: { students: 30, absences: expect.any(Number) } };
  expect((await control('state')).body).toMatchObject(state);
});

it.each([
  ['district', { calls: [{ do: 'nonsense' }] }, 400],
  ['district', { calls: [{ do: 'put', with: ['nowhere', {}] }] }, 400],
  ['snapshot/nowhere', undefined, 404],
  ['faults', { set: ['nonsense'] }, 400],
  ['nonsense', {}, 404],
])('the control API of the reference hub refuses %s %j with a reason', async (path, body, status) => {
  const description = expect.stringMatching(/.{10}/) as string;
  expect(await control(path, body)).toMatchObject({ status, body: { imsx_description: description } });
});
