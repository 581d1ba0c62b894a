import { afterAll, describe, expect, it } from 'vitest';
import type { Row } from './hub-client.ts';
import { ROSTERING, USERS, startTestHub } from './hub-client.ts';

const test = await startTestHub({ students: 30 });
afterAll(() => test[Symbol.asyncDispose]());
const { clock } = test.hub;

async function ask(path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(`${test.hub.controlUrl}/${path}`, init);
  return { status: answer.status, body: await answer.json() };
}
const call = async (...calls: [name: string, ...given: unknown[]][]): Promise<unknown> =>
  (await ask('district', { calls: calls.map(([name, ...given]) => ({ do: name, with: given })) })).body;

describe('the control API of the reference hub', () => {
  it('calls the operations of the district by name, with odd rows served as they are', async () => {
    const odd = { sourcedId: 17, dateLastModified: 'i går' };
    const none = { sourcedId: null };
    const put = await call(['put', 'orgs', none, { id: '00' }], ['put', 'orgs', odd, { id: '01' }]);
    expect(put).toEqual({ results: ['00', '01'] });
    expect((await test.get(`${ROSTERING}/orgs`, { limit: 2 })).rows).toMatchObject([none, odd]);
    const removed = await call(['remove', 'orgs', '00'], ['remove', 'orgs', '00']);
    expect(removed).toEqual({ results: [true, false] });
  });

  it('shows state, requests without tokens, and all rows of a collection with faults and without', async () => {
    const paged = (await test.get(USERS, { limit: 10_000 })).rows;
    expect((await ask('snapshot/users')).body).toEqual(paged);
    await ask('faults', { set: [{ name: 'real-booleans', collection: 'users' }] });
    expect(((await ask('snapshot/users')).body as Row[])[0]).toMatchObject({ enabledUser: true });
    expect((await ask('snapshot/users?faults=false')).body).toEqual(paged);
    expect((await ask('faults', { clear: true })).body).toEqual({ faults: [] });
    await ask('requests/clear', {});
    await test.get(USERS, { limit: 1 });
    const requests = (await ask('requests')).body;
    expect(requests).toMatchObject({ counts: { users: { '200': 1 } } });
    expect(JSON.stringify(requests)).not.toContain('Bearer');
    const state = { frozen: true, faults: [], counts: { students: 30, absences: expect.any(Number) } };
    expect((await ask('state')).body).toMatchObject(state);
  });

  it('moves the clock, makes changes, freezes, and takes tokens back', async () => {
    const beforeMs = clock.now();
    await ask('clock', { advanceMs: 5_000_000 });
    expect(clock.now() - beforeMs).toBeGreaterThanOrEqual(5_000_000);
    const happened = Object.values((await ask('step', { changes: 12 })).body as Record<string, number>);
    expect(happened.reduce((sum, count) => sum + count, 0)).toBe(12);
    expect((await ask('unfreeze', {})).body).toEqual({ frozen: false });
    expect((await ask('freeze', {})).body).toEqual({ frozen: true });
    await ask('revoke-tokens', {});
    expect((await test.get(USERS)).status).toBe(401);
    await test.newToken();
  });

  it.each([
    ['district', { calls: [{ do: 'nonsense' }] }, 400],
    ['district', { calls: [{ do: 'put', with: ['nowhere', {}] }] }, 400],
    ['snapshot/nowhere', undefined, 404],
    ['faults', { set: ['nonsense'] }, 400],
    ['nonsense', {}, 404],
  ])('refuses %s %o with a reason, not with 500', async (path, body, status) => {
    const description = expect.stringMatching(/.{10}/) as string;
    expect(await ask(path, body)).toMatchObject({ status, body: { imsx_description: description } });
  });
});
