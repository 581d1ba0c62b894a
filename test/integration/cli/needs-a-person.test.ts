import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall } from './support/rollcall.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
});
afterAll(() => tenant[Symbol.asyncDispose]());

describe('status', () => {
  it('says that a tenant is not mirrored yet, and exits with 0', async () => {
    const { code, stdout } = await rollcall(tenant.configPath, 'status');
    expect(code).toBe(0);
    expect(stdout).toContain('not mirrored yet');
  });

  it('exits with 3 while deletions are withheld, even when only the topic shows it', async () => {
    await tenant.sync('FULL', COLLECTIONS);
    const gone = tenant.hub.district.ids('courses').slice(1);
    for (const id of gone) tenant.hub.district.remove('courses', id);
    await tenant.sync('FULL', ['courses']);
    // Many rows are gone, so they wait for a second full sync that misses them too.
    await tenant.sync('FULL', ['courses']);
    const { code, stdout } = await rollcall(tenant.configPath, 'status');
    expect(stdout).toContain(`needs a decision: ${gone.length} deletions are withheld in courses`);
    expect(code).toBe(3);
    const withoutRedis = await rollcall(tenant.configWith({ redisUrl: null }), 'status');
    expect(withoutRedis.code).toBe(3);
    const state = await rollcall(tenant.configPath, 'state', 'show', '--collection', 'courses', '--json');
    expect(state.stderr).toBe('');
    expect(JSON.parse(state.stdout)).toMatchObject({ collections: [{ withheld: gone.length }] });
  });
});
