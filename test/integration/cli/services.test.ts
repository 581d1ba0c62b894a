import { expect, inject, it, vi } from 'vitest';
import { startOwnRedis } from '../../faults/support/own-redis.ts';
import { startProxy, via } from '../../faults/support/proxy.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';
import { startTestTenant } from './support/test-tenant.ts';

it('a failing Redis or registry is named by probe, metrics and status until the service recovers', async () => {
  const { registryUrl } = inject('stack');
  await using proxy = await startProxy(new URL(registryUrl).host);
  await using tenant = await startTestTenant();
  await using redis = await startOwnRedis();
  // The shortest session, so that heartbeats run out soon.
  const kafka = { session: '6s' };
  const ofRedis = { redis: { url: redis.url }, kafka };
  const config = tenant.configWith({ settings: { ...ofRedis, registry: { url: via(registryUrl, proxy) } } });
  await using run = startRollcall(config, 'run');
  await run.says('probes and metrics');
  const set = (setting: string, value: string) => redis.admin.config('SET', setting, value);
  // It reads the heartbeat, and has an address of the registry that answers.
  const status = async () => (await rollcall(tenant.configWith({ settings: ofRedis }), 'status')).stdout;
  const isWell = async () => {
    await vi.waitFor(async () => expect((await run.get('/readyz')).status).toBe(200));
    await vi.waitFor(async () => expect(await status()).toContain('all well'));
  };
  /** Waits until exactly these parts are named with such reasons. */
  async function shows(named: Readonly<Record<string, RegExp>>): Promise<void> {
    await vi.waitFor(async () => {
      const { reasons } = (await (await run.get('/readyz')).json()) as {
        reasons: { part: string; why: string; remedy: string }[];
      };
      const said = Object.fromEntries(reasons.map(({ part, why, remedy }) => [part, `${why} → ${remedy}`]));
      delete said['pipeline'];
      const wanted = Object.entries(named).map(([part, why]) => [part, expect.stringMatching(why)] as const);
      expect(said).toEqual(Object.fromEntries(wanted));
    });
    const json = await (await run.get('/status.json')).text();
    const metrics = await (await run.get('/metrics')).text();
    for (const part of Object.keys(named)) {
      expect(json).toContain(`"part":"${part}"`);
      expect(metrics).toContain(`rollcall_ready{tenant="north",part="${part}"} 0`);
    }
    await vi.waitFor(async () => {
      const shown = await status();
      expect(shown).not.toContain('no process mirrors the tenant');
      expect(shown).toContain(`${Object.keys(named)[0]}: `);
    });
  }
  await isWell();
  proxy.begin('cut');
  await set('maxmemory-policy', 'allkeys-lru');
  await shows({
    redis: /allkeys-lru.* → Set maxmemory-policy to noeviction.*Rollcall uses\.$/,
    registry: /^The schema registry/,
  });
  await set('maxmemory-policy', 'noeviction');
  await shows({ registry: /^The schema registry/ });
  proxy.mend();
  await isWell();
  await set('min-replicas-to-write', '1');
  await vi.waitUntil(async () => (await redis.admin.keys('*:owner')).length === 0);
  await shows({ redis: /has too few replicas to accept writes.* → .*state of Redis/ });
  await set('min-replicas-to-write', '0');
  await isWell();
  await run.stop();
});
