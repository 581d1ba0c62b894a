import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startOwnRedis, type OwnRedis } from '../../faults/support/own-redis.ts';
import { startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall, type Running } from './support/rollcall.ts';

const WITHIN = { timeout: 60_000, interval: 500 } as const;

describe('while rollcall run mirrors', () => {
  let tenant: TestTenant;
  let redis: OwnRedis;
  let admin: OwnRedis['admin'];
  let config: string;
  let run: Running;
  beforeAll(async () => {
    [tenant, redis] = await Promise.all([startTestTenant(), startOwnRedis()]);
    admin = redis.admin;
    config = tenant.configWith({ redisUrl: redis.url });
    run = startRollcall(config, ['run']);
    await vi.waitFor(async () => expect(await reasons()).toEqual([]), WITHIN);
  });
  afterAll(async () => {
    run.kill('SIGTERM');
    await run.ended;
    await redis[Symbol.asyncDispose]();
    await tenant[Symbol.asyncDispose]();
  });

  const get = (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${/"port":(\d+)/.exec(run.output())?.[1] ?? ''}${path}`);
  /** What `/readyz` says. */
  async function reasons(): Promise<{ part: string; why: string; remedy: string }[]> {
    const answer = await get('/readyz');
    return ((await answer.json()) as { reasons: { part: string; why: string; remedy: string }[] }).reasons;
  }
  const status = async (): Promise<string> => (await rollcall(config, 'status')).stdout;

  it('a Redis that may evict the index from now on shows within a minute, and no longer once it may not', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await vi.waitFor(async () => {
      const [reason, ...others] = await reasons();
      expect(others).toEqual([]);
      expect(reason).toMatchObject({ part: 'redis', why: expect.stringContaining('allkeys-lru') as string });
      expect(reason?.remedy).toMatch(/^Set maxmemory-policy to noeviction.*Rollcall uses\.$/);
    }, WITHIN);
    await vi.waitFor(async () => expect(await status()).toContain('redis: '), WITHIN);
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await vi.waitFor(async () => expect(await reasons()).toEqual([]), WITHIN);
  });

  it('a Redis that accepts connections and answers nothing shows everywhere within 15 s, though no sync asks it', async () => {
    redis.service.kill('SIGSTOP');
    try {
      await vi.waitFor(
        async () => {
          const [reason] = await reasons();
          expect(reason).toMatchObject({ part: 'redis', why: expect.stringContaining('in time') as string });
        },
        { timeout: 15_000, interval: 200 },
      );
      const { tenants } = (await (await get('/status.json')).json()) as { tenants: { headline: string }[] };
      expect(tenants[0]?.headline).toContain('redis: ');
      expect(await (await get('/metrics')).text()).toContain('rollcall_ready{tenant="north",part="redis"} 0');
      expect(await status()).toContain('redis: ');
    } finally {
      redis.service.kill('SIGCONT');
    }
    await vi.waitFor(async () => expect(await reasons()).toEqual([]), WITHIN);
    await vi.waitFor(async () => expect(await status()).toContain('all well'), WITHIN);
  });

  it('a Redis that takes no writes is named by /readyz and status, which do not call the process or the hub dead', async () => {
    await admin.config('SET', 'min-replicas-to-write', '1');
    await vi.waitFor(
      async () => expect((await reasons()).map(({ part }) => part)).toContain('redis'),
      WITHIN,
    );
    // The heartbeat expires.
    await vi.waitUntil(async () => (await admin.keys('*:owner')).length === 0, WITHIN);
    const shown = await status();
    expect(shown).not.toContain('no process mirrors the tenant');
    expect(shown).toContain('has too few replicas to accept writes');
    const parts = (await reasons()).map(({ part }) => part);
    expect(parts).toContain('redis');
    expect(parts).not.toContain('hub');
    await admin.config('SET', 'min-replicas-to-write', '0');
    await vi.waitFor(async () => expect(await reasons()).toEqual([]), WITHIN);
    await vi.waitFor(async () => expect(await status()).toContain('all well'), WITHIN);
  });
});
