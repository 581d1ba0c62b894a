import { afterAll, describe, expect, it } from 'vitest';
import { ABSENCES, USERS, startTestHub } from './hub-client.ts';

const SECRET = 'p:w/ö&=';
const BASIC = { authorization: `Basic ${btoa(`rollcall:${encodeURIComponent(SECRET)}`)}` };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const GRANT = 'grant_type=client_credentials';

let worldMs = Date.now();
const test = await startTestHub({
  students: 5,
  clientSecret: SECRET,
  tokenLifetimeMs: 60_000,
  now: () => worldMs,
});
afterAll(() => test[Symbol.asyncDispose]());

describe('authentication at the reference hub (spec 5, RFC 6749)', () => {
  it.each<[body: string, headers: Record<string, string>, status: number, answer: object]>([
    [`${GRANT}&scope=a%20b`, BASIC, 200, { token_type: 'Bearer', expires_in: 60, scope: 'a b' }],
    [`${GRANT}&client_id=rollcall&client_secret=${encodeURIComponent(SECRET)}`, {}, 200, { expires_in: 60 }],
    [GRANT, {}, 401, { error: 'invalid_client' }],
    [`${GRANT}&client_id=rollcall&client_secret=wrong`, {}, 401, { error: 'invalid_client' }],
    ['grant_type=password', BASIC, 400, { error: 'unsupported_grant_type' }],
    ['{}', { ...BASIC, 'content-type': 'application/json' }, 400, { error: 'invalid_request' }],
  ])('%s with %o is answered with %i', async (body, headers, status, answer) => {
    const init = { method: 'POST', body, headers: { ...FORM, ...headers } };
    const response = await fetch(test.hub.tokenUrl, init);
    expect([response.status, await response.json()]).toMatchObject([status, answer]);
    expect(response.headers.has('www-authenticate')).toBe(status === 401);
  });

  it('5 rule 1: nothing is served without a valid token', async () => {
    const ask = (headers: Record<string, string>) => fetch(`${test.hub.baseUrl}${USERS}`, { headers });
    const none = await ask({});
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="hub"']);
    const unknown = await ask({ authorization: 'Bearer nonsense' });
    expect([unknown.status, await unknown.text()]).toEqual([
      401,
      expect.stringMatching('unauthorisedrequest'),
    ]);
  });

  it('5 rule 3: a token is valid only during its lifetime and until it is revoked', async () => {
    const statusAfter = async (ms: number): Promise<number> => {
      worldMs += ms;
      return (await test.get(ABSENCES)).status;
    };
    expect([await statusAfter(59_000), await statusAfter(2000)]).toEqual([200, 401]);
    await test.newToken();
    expect(await statusAfter(0)).toBe(200);
    test.hub.tokens.revokeAll();
    expect(await statusAfter(0)).toBe(401);
  });
});
