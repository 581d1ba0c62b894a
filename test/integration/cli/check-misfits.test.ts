import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startOwnRedis } from '../state/own-redis.ts';
import { startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall } from './support/rollcall.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
});
afterAll(() => tenant[Symbol.asyncDispose]());

async function toRegistry(method: 'POST' | 'PUT', path: string, body: object): Promise<void> {
  const response = await fetch(`${inject('stack').registryUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
}

describe('check', () => {
  it("reports another program's schema and a changed compatibility level, with the subject and the remedy", async () => {
    const wrongTenant = `${tenant.topicPrefix}.north.users-value`;
    const weakened = `${tenant.topicPrefix}.north.orgs-value`;
    const schema = JSON.stringify({ type: 'record', name: 'Other', fields: [{ name: 'n', type: 'int' }] });
    await toRegistry('POST', `/subjects/${wrongTenant}/versions`, { schema });
    await toRegistry('PUT', `/config/${wrongTenant}`, { compatibility: 'FULL_TRANSITIVE' });
    await toRegistry('POST', `/subjects/${weakened}/versions`, { schema });
    await toRegistry('PUT', `/config/${weakened}`, { compatibility: 'NONE' });
    const { code, stdout } = await rollcall(tenant.configPath, 'check');
    expect(code).toBe(1);
    expect(stdout).toContain(`The schema of ${wrongTenant} does not fit the versions already registered`);
    expect(stdout).toContain(`${weakened} has compatibility NONE`);
    expect(stdout).toContain(`PUT ${inject('stack').registryUrl}/config/${weakened}`);
  });

  it('refuses a Redis that may evict keys, and leaves nothing in it', async () => {
    const own = await startOwnRedis();
    const client = new Redis(own.url);
    try {
      await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
      const forgetful = await rollcall(tenant.configWith({ redisUrl: own.url }), 'check');
      expect(forgetful.code).toBe(1);
      expect(forgetful.stdout).toContain('maxmemory-policy allkeys-lru');
      expect(forgetful.stdout).toContain('Set maxmemory-policy to noeviction');
      await client.config('SET', 'maxmemory-policy', 'noeviction');
      const { stdout } = await rollcall(tenant.configWith({ redisUrl: own.url }), 'check');
      expect(stdout).toContain('evicts nothing');
      expect(await client.dbsize()).toBe(0);
    } finally {
      client.disconnect();
      await own.stop();
    }
  });
});
