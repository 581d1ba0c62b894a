import { expect, it, vi } from 'vitest';
import { Semaphore } from '../../../src/semaphore.ts';
import { hubHosts } from '../../../src/session/hub-hosts.ts';
import { answer, exchange, readAll, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

function permitsOf(semaphore: Semaphore): number {
  let permits = 0;
  while (semaphore.tryAcquire()) permits += 1;
  return permits;
}
const empty = answer(200, { users: [] });

it('tenants at one host share 32 requests by scheme, host and port, half of them to the Core API', () => {
  const hostOf = hubHosts();
  const of = (baseUrl: string) => hostOf({ baseUrl });
  const north = of('https://hub.example/north');
  expect(of('https://HUB.example:443/south/')).toBe(north);
  expect(new Set([north, of('https://hub.example:8443/west'), of('http://hub.example/east')]).size).toBe(3);
  expect([permitsOf(north.permits.core), permitsOf(north.permits.all)]).toEqual([16, 32]);
});

it('tenants at one host wait for their turn outside the time limit of a request', async () => {
  const host = { all: new Semaphore(1), core: new Semaphore(1) };
  const release = await host.all.acquire(new AbortController().signal);
  const limits = { requestTimeoutMs: 1_000 };
  await using test = await testHub(empty, { host, ...limits });
  const read = readAll(test.hub, 'users');
  const other = await exchange([() => undefined], { ...limits, retry: { maxAttempts: 1 } });
  expect(other.error).toMatchObject({ code: 'HUB_TIMEOUT' });
  expect([test.data(), test.events]).toEqual([[], []]);
  release();
  expect((await read).end.reason).toBe('no-rows');
});

it.each([
  ['one tenant with four requests', 1, 4, 2],
  ['one tenant with three requests', 1, 3, 1],
  ['one tenant with one request', 1, 1, 1],
  ['four tenants', 4, 4, 3],
])('other requests go on while the Core API of a host hangs: %s', async (_, tenants, requests, share) => {
  const host = { all: new Semaphore(8), core: new Semaphore(3) };
  const over = new AbortController();
  const asked = { student: 'a', from: '2026-03-01', to: '2026-03-02', signal: over.signal };
  await using all = new AsyncDisposableStack();
  const hubs: TestHub[] = [];
  for (let tenant = 0; tenant < tenants; tenant += 1) {
    const script: Script = (...given) => (given[0].path.includes('/schedules') ? undefined : empty(...given));
    const test = all.use(await testHub(script, { host, maxConcurrentRequests: requests }));
    hubs.push(test);
    const hanging = Array.from({ length: 8 }, () => test.hub.readSchedule(asked).catch(() => null));
    all.defer(() => Promise.all(hanging).then(() => undefined));
  }
  all.defer(() => over.abort());
  const hanging = () => hubs.flatMap((hub) => hub.data()).filter(({ path }) => path.includes('/schedules'));
  await vi.waitFor(() => expect(hanging()).toHaveLength(share), 5_000);
  const reads = hubs.flatMap(({ hub }) => Array.from({ length: 8 }, () => readAll(hub, 'users')));
  for (const { end } of await Promise.all(reads)) expect(end.reason).toBe('no-rows');
  expect(hanging()).toHaveLength(share);
  await all.disposeAsync();
  expect([permitsOf(host.core), permitsOf(host.all)]).toEqual([3, 8]);
});
