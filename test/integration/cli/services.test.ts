import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startOwnRedis, type OwnRedis } from '../../faults/support/own-redis.ts';
import { startFrailProxy, type FrailProxy } from '../state/frail-proxy.ts';
import { rollcall, startRollcall, type Running } from './support/rollcall.ts';
import { startTestTenant, type TestTenant } from './support/test-tenant.ts';

const WITHIN = { timeout: 60_000, interval: 200 } as const;

let tenant: TestTenant;
let redis: OwnRedis;
let proxy: FrailProxy;
let run: Running;
beforeAll(async () => {
  const registry = new URL(inject('stack').registryUrl);
  proxy = await startFrailProxy(registry.href);
  registry.host = new URL(proxy.url).host;
  [tenant, redis] = await Promise.all([startTestTenant(), startOwnRedis()]);
  const settings = { redis: { url: redis.url }, registry: { url: registry.href } };
  run = startRollcall(tenant.configWith({ settings }), 'run');
  await run.says('probes and metrics');
  await isWell();
});
afterAll(async () => {
  await run.stop();
  await redis[Symbol.asyncDispose]();
  await proxy.close();
  await tenant[Symbol.asyncDispose]();
});

/** What `/readyz` says. */
async function reasons(): Promise<{ part: string; why: string; remedy: string }[]> {
  const answer = await run.get('/readyz');
  return ((await answer.json()) as { reasons: { part: string; why: string; remedy: string }[] }).reasons;
}
/** Status reads the heartbeat, with a registry of its own that answers. */
async function status(): Promise<string> {
  const config = tenant.configWith({ settings: { redis: { url: redis.url } } });
  return (await rollcall(config, 'status')).stdout;
}
async function isWell(): Promise<void> {
  await vi.waitFor(async () => expect(await reasons()).toEqual([]), WITHIN);
  await vi.waitFor(async () => expect(await status()).toContain('all well'), WITHIN);
}
const tell = (setting: string, value: string) => redis.admin.config('SET', setting, value);

describe('while rollcall run mirrors', () => {
  it.each<{ what: string; breaks: () => unknown; mends: () => unknown; why: string; remedy?: RegExp }>([
    {
      what: 'a Redis that may evict the index from now on',
      breaks: () => tell('maxmemory-policy', 'allkeys-lru'),
      mends: () => tell('maxmemory-policy', 'noeviction'),
      why: 'allkeys-lru',
      remedy: /^Set maxmemory-policy to noeviction.*Rollcall uses\.$/,
    },
    {
      what: 'a Redis that accepts connections and answers nothing',
      breaks: () => redis.service.kill('SIGSTOP'),
      mends: () => redis.service.kill('SIGCONT'),
      why: 'in time',
    },
    {
      what: 'a Redis that takes no writes',
      breaks: async () => {
        await tell('min-replicas-to-write', '1');
        // The heartbeat expires.
        await vi.waitUntil(async () => (await redis.admin.keys('*:owner')).length === 0, WITHIN);
      },
      mends: () => tell('min-replicas-to-write', '0'),
      why: 'has too few replicas to accept writes',
    },
    {
      what: 'a schema registry that goes away',
      breaks: () => proxy.cut(),
      mends: () => proxy.mend(),
      why: 'The schema registry',
    },
  ])(
    '$what is named everywhere, which calls neither the process nor the hub dead, until it is mended',
    async ({ what, breaks, mends, why, remedy = /./ }) => {
      const part = what.includes('Redis') ? 'redis' : 'registry';
      await breaks();
      try {
        await vi.waitFor(async () => {
          const [reason, ...others] = await reasons();
          expect(reason).toMatchObject({ part, why: expect.stringContaining(why) as string });
          expect(reason?.remedy).toMatch(remedy);
          expect(others.map((each) => each.part)).not.toContain('hub');
        }, WITHIN);
        expect((await run.get('/readyz')).status).toBe(503);
        expect(await (await run.get('/status.json')).text()).toContain(`"headline":"${part}: `);
        const metrics = await (await run.get('/metrics')).text();
        expect(metrics).toContain(`rollcall_ready{tenant="north",part="${part}"} 0`);
        await vi.waitFor(async () => {
          const shown = await status();
          expect(shown).toContain(`${part}: `);
          expect(shown).not.toContain('no process mirrors the tenant');
        }, WITHIN);
      } finally {
        await mends();
      }
      await isWell();
    },
  );
});
