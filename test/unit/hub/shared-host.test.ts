import { describe, expect, it, vi } from 'vitest';
import { Semaphore } from '../../../src/hub/semaphore.ts';
import { HubHosts } from '../../../src/session/hub-hosts.ts';
import { readAll, sendJson, testHub, type TestHub } from './support/scripted-hub.ts';

async function permitsOf(semaphore: Semaphore): Promise<number> {
  let permits = 0;
  while (semaphore.tryAcquire()) permits += 1;
  return permits;
}

describe('tenants at one host', () => {
  it('share 32 requests by scheme, host and port, half of them to the Core API', async () => {
    const hosts = new HubHosts();
    const of = (baseUrl: string) => hosts.of({ baseUrl });
    const north = of('https://hub.example/north');
    expect(of('https://HUB.example:443/south/')).toBe(north);
    expect(new Set([north, of('https://hub.example:8443/west'), of('http://hub.example/east')]).size).toBe(3);
    expect(await permitsOf(north.permits.core)).toBe(16);
    expect(await permitsOf(north.permits.all)).toBe(32);
  });

  it('wait for their turn outside the time limit of a request, its events and the circuit breaker', async () => {
    const host = { all: new Semaphore(1), core: new Semaphore(1) };
    const held = Promise.withResolvers<void>();
    await using busy = await testHub(
      async (_, response) => {
        await held.promise;
        sendJson(response, { users: [] });
      },
      { host },
    );
    await using waiting = await testHub((_, response) => sendJson(response, { users: [] }), {
      host,
      requestTimeoutMs: 200,
      breaker: { failures: 1 },
    });
    const first = readAll(busy.hub, 'users');
    await vi.waitFor(() => expect(busy.data()).toHaveLength(1), 5_000);
    const second = readAll(waiting.hub, 'users');
    // Longer than the time limit of a request.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([waiting.data(), waiting.events]).toEqual([[], []]);
    held.resolve();
    await first;
    expect((await second).end.reason).toBe('no-rows');
    expect(waiting.events.map(({ type }) => type)).not.toContain('request-retried');
  });

  it('leave places for the other APIs while the Core API of all of them hangs', async () => {
    const host = { all: new Semaphore(4), core: new Semaphore(2) };
    const over = new AbortController();
    const hubs: TestHub[] = [];
    const hanging: Promise<unknown>[] = [];
    try {
      for (let tenant = 0; tenant < 4; tenant += 1) {
        const test = await testHub(
          (request, response) =>
            request.path.includes('/schedules') ? undefined : sendJson(response, { users: [] }),
          { host },
        );
        hubs.push(test);
        const asked = { student: 'a', from: '2026-03-01', to: '2026-03-02', signal: over.signal };
        hanging.push(test.hub.readSchedule(asked).catch(() => null));
      }
      await vi.waitFor(() => expect(hubs.flatMap((hub) => hub.data())).toHaveLength(2), 5_000);
      for (const { hub } of hubs) expect((await readAll(hub, 'users')).end.reason).toBe('no-rows');
      expect(hubs.flatMap((hub) => hub.data())).toHaveLength(2 + hubs.length);
    } finally {
      over.abort();
      await Promise.all(hanging);
      for (const test of hubs) await test[Symbol.asyncDispose]();
    }
    expect([await permitsOf(host.core), await permitsOf(host.all)]).toEqual([2, 4]);
  });
});
