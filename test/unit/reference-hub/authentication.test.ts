import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestHub } from './hub-client.ts';
import { ABSENCES, ROSTERING, startTestHub } from './hub-client.ts';

const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;

describe('authentication (spec 5, RFC 6749)', () => {
  let test: TestHub;
  let worldMs = Date.now();
  beforeAll(async () => {
    test = await startTestHub({
      students: 5,
      clientSecret: 'p:w/ö&=',
      tokenLifetimeMs: 60_000,
      now: () => worldMs,
    });
  });
  afterAll(() => test[Symbol.asyncDispose]());

  const ask = (body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(test.hub.tokenUrl, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });

  it('client_secret_basic and client_secret_post are both accepted, with odd characters in the secret', async () => {
    const grant = 'grant_type=client_credentials&scope=a%20b';
    const byBasic = await ask(grant, { authorization: basic('rollcall', 'p:w/ö&=') });
    const byPost = await ask(`${grant}&client_id=rollcall&client_secret=${encodeURIComponent('p:w/ö&=')}`);
    for (const response of [byBasic, byPost]) {
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(await response.json()).toMatchObject({ token_type: 'Bearer', expires_in: 60, scope: 'a b' });
    }
  });

  it.each([
    ['grant_type=client_credentials', 401, 'invalid_client'],
    ['grant_type=client_credentials&client_id=rollcall&client_secret=wrong', 401, 'invalid_client'],
    ['client_id=rollcall', 400, 'invalid_request'],
    ['grant_type=client_credentials&grant_type=client_credentials', 400, 'invalid_request'],
  ])('%s gets no token', async (body, status, error) => {
    const response = await ask(body);
    expect(response.status).toBe(status);
    expect(response.headers.has('www-authenticate')).toBe(status === 401);
    expect(await response.json()).toMatchObject({ error });
  });

  it('another grant, a body that is no form, both ways at once, and GET get no token', async () => {
    const authorization = basic('rollcall', 'p:w/ö&=');
    const other = await ask('grant_type=password', { authorization });
    expect([other.status, await other.json()]).toMatchObject([400, { error: 'unsupported_grant_type' }]);
    const json = await ask('{}', { 'content-type': 'application/json', authorization });
    expect([json.status, await json.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    const both = await ask('grant_type=client_credentials&client_secret=x', { authorization });
    expect([both.status, await both.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    expect((await fetch(test.hub.tokenUrl)).status).toBe(405);
  });

  it('5 rule 1: nothing is served without a valid token', async () => {
    const url = `${test.hub.baseUrl}${ROSTERING}/users`;
    const none = await fetch(url);
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="hub"']);
    const unknown = await fetch(url, { headers: { authorization: 'Bearer nonsense' } });
    expect(unknown.status).toBe(401);
    expect(unknown.headers.get('www-authenticate')).toContain('invalid_token');
    expect(await unknown.json()).toMatchObject({
      imsx_CodeMinor: { imsx_codeMinorField: [{ imsx_codeMinorFieldValue: 'unauthorisedrequest' }] },
    });
  });

  it('5 rule 3: a token is valid only during its lifetime and until it is revoked', async () => {
    await test.newToken();
    worldMs += 59_000;
    expect((await test.get(ABSENCES)).status).toBe(200);
    worldMs += 2000;
    expect((await test.get(ABSENCES)).status).toBe(401);
    test.hub.faults.set('token-expired-403');
    expect((await test.get(ABSENCES)).status).toBe(403);
    test.hub.faults.clear();
    await test.newToken();
    expect((await test.get(ABSENCES)).status).toBe(200);
    await test.control('revoke-tokens', {});
    expect((await test.get(ABSENCES)).status).toBe(401);
    await test.newToken();
  });
});

describe('addresses (spec 4, 4.1, 7)', () => {
  it('every endpoint answers, and other addresses and methods do not', async () => {
    await using test = await startTestHub();
    const { district, baseUrl } = test.hub;
    const classId = district.ids('classes')[0]!;
    const [afterschool] = district.afterschoolIds();
    const paths = [
      ABSENCES,
      ABSENCES.replace('detail', 'summary'),
      ...[
        'users',
        'students',
        'teachers',
        'orgs',
        'classes',
        'courses',
        'academicSessions',
        'enrollments',
      ].map((name) => `${ROSTERING}/${name}`),
      `${ROSTERING}/classes/${classId}/students`,
      `${ROSTERING}/afterschools/${afterschool}/users`,
      ...['lineItems', 'categories', 'results', 'assessmentLineItems', 'assessmentResults'].map(
        (name) => `${ROSTERING.replace('rostering', 'gradebook')}/${name}`,
      ),
    ];
    for (const path of paths) {
      const page = await test.get(path, { limit: 2 });
      expect([path, page.status, page.rows.length > 0]).toEqual([path, 200, true]);
      expect(page.headers.get('date')).toMatch(/^Fri, 20 Nov 2026 11:00:\d\d GMT$/);
    }
    const single = await test.get(`${ROSTERING}/classes/${classId}`);
    expect(single.body).toMatchObject({ class: { sourcedId: classId } });
    for (const path of [
      '/nothing',
      `${ROSTERING}/classes/none`,
      `${ROSTERING}/classes/none/students`,
      `${ROSTERING}/afterschools/none/users`,
    ]) {
      const refused = await test.get(path);
      expect([path, refused.status]).toEqual([path, 404]);
      expect(refused.text).toContain('unknownobject');
    }
    expect((await fetch(`${baseUrl}${ROSTERING}/users`, { method: 'POST' })).status).toBe(405);
    expect((await test.getUrl(`${baseUrl.replace('/north', '')}${ROSTERING}/users`)).status).toBe(404);
  });
});
