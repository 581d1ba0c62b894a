import { describe, expect, it, vi } from 'vitest';
import { Semaphore } from '../../../src/hub/semaphore.ts';
import { HubHosts } from '../../../src/session/hub-hosts.ts';
import { answer, exchange, readAll, testHub, type TestHub } from './support/scripted-hub.ts';

function permitsOf(semaphore: Semaphore): number {
  let permits = 0;
  while (semaphore.tryAcquire()) permits += 1;
  return permits;
}
const empty = answer(200, { users: [] });

describe('tenants at one host', () => {
  it('share 32 requests by scheme, host and port, half of them to the Core API', () => {
    const hosts = new HubHosts();
    const of = (baseUrl: string) => hosts.of({ baseUrl });
    const north = of('https://hub.example/north');
    expect(of('https://HUB.example:443/south/')).toBe(north);
    expect(new Set([north, of('https://hub.example:8443/west'), of('http://hub.example/east')]).size).toBe(3);
    expect([permitsOf(north.permits.core), permitsOf(north.permits.all)]).toEqual([16, 32]);
  });

  it('wait for their turn outside the time limit of a request, its events and the circuit breaker', async () => {
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

  it('leave places for the other APIs while the Core API of all of them hangs', async () => {
    const host = { all: new Semaphore(4), core: new Semaphore(2) };
    const over = new AbortController();
    const hubs: TestHub[] = [];
    await using all = new AsyncDisposableStack();
    for (let tenant = 0; tenant < 4; tenant += 1) {
      const test = await testHub(
        (request, response) => (request.path.includes('/schedules') ? undefined : empty(request, response)),
        { host },
      );
      hubs.push(all.use(test));
      const asked = { student: 'a', from: '2026-03-01', to: '2026-03-02', signal: over.signal };
      const hanging = test.hub.readSchedule(asked).catch(() => null);
      all.defer(() => hanging.then(() => undefined));
    }
    all.defer(() => over.abort());
    await vi.waitFor(() => expect(hubs.flatMap((hub) => hub.data())).toHaveLength(2), 5_000);
    for (const { hub } of hubs) expect((await readAll(hub, 'users')).end.reason).toBe('no-rows');
    expect(hubs.flatMap((hub) => hub.data())).toHaveLength(2 + hubs.length);
    await all.disposeAsync();
    expect([permitsOf(host.core), permitsOf(host.all)]).toEqual([2, 4]);
  });
});
