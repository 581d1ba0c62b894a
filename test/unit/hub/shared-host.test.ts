import { describe, expect, it, vi } from 'vitest';
import { Semaphore } from '../../../src/hub/semaphore.ts';
import { hubHosts, hostOf } from '../../../src/session/hub-hosts.ts';
import type { TenantConfig } from '../../../src/config.ts';
import { readAll, sendJson, testHub, type TestHub } from './support/scripted-hub.ts';

function tenantAt(baseUrl: string, maxConcurrentRequests = 4): Pick<TenantConfig, 'hub'> {
  return { hub: { baseUrl, maxConcurrentRequests } as TenantConfig['hub'] };
}

async function permitsOf(semaphore: Semaphore | undefined): Promise<number> {
  let permits = 0;
  while (semaphore?.tryAcquire()) permits += 1;
  return permits;
}

describe('tenants at one host', () => {
  it('share 32 requests by scheme, host and port, or as many as the one that may have most', async () => {
    const hosts = hubHosts([
      tenantAt('https://hub.example/north'),
      tenantAt('https://HUB.example:443/south/', 8),
      tenantAt('https://hub.example:8443/west', 64),
      tenantAt('http://hub.example/east', 1),
    ]);
    expect([...hosts.keys()]).toEqual([
      'https://hub.example',
      'https://hub.example:8443',
      'http://hub.example',
    ]);
    const permits = await Promise.all([...hosts.values()].map(({ permits: { all } }) => permitsOf(all)));
    expect(permits).toEqual([32, 64, 32]);
    expect(await permitsOf(hosts.get('https://hub.example:8443')?.permits.core)).toBe(32);
    expect(hostOf({ baseUrl: 'https://hub.example:443/south/' })).toBe('https://hub.example');
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

  it('leave no place behind when one closes while its requests wait', async () => {
    const host = { all: new Semaphore(1), core: new Semaphore(1) };
    const release = await host.all.acquire(new AbortController().signal);
    await using test = await testHub((_, response) => sendJson(response, { users: [] }), { host });
    const stop = new AbortController();
    const scan = readAll(test.hub, 'users', { signal: stop.signal });
    stop.abort(new Error('stopping'));
    await expect(scan).rejects.toThrow('stopping');
    release();
    expect(await permitsOf(host.all)).toBe(1);
  });
});
