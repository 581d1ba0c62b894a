import { afterAll, expect, it } from 'vitest';
import type { Row } from './hub-client.ts';
import { USERS, startTestHub } from './hub-client.ts';

const test = await startTestHub({ students: 30 });
afterAll(() => test[Symbol.asyncDispose]());

it('the reference hub serves nothing without a valid token (spec 5)', async () => {
  const ask = (headers: Record<string, string>) => fetch(`${test.hub.baseUrl}${USERS}`, { headers });
  const none = await ask({});
  expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="hub"']);
  const unknown = await ask({ authorization: 'Bearer nonsense' });
  expect([unknown.status, await unknown.text()]).toEqual([401, expect.stringMatching('unauthorisedrequest')]);
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
])('the control API of the reference hub refuses $0 with a reason (case %$)', async (path, body, status) => {
  const description = expect.stringMatching(/.{10}/) as string;
  expect(await control(path, body)).toMatchObject({ status, body: { imsx_description: description } });
});
