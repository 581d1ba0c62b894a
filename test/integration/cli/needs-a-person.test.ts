import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
});
afterAll(() => tenant[Symbol.asyncDispose]());

describe('status', () => {
  it('says that no process mirrors a tenant yet, and exits with 1', async () => {
    const { code, stdout } = await rollcall(tenant.configPath, 'status');
    expect(code).toBe(1);
    expect(stdout).toContain('no process mirrors the tenant');
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
  });
});

describe('/status.json of a process that takes the tenant over', () => {
  it('names the decision, and no row that it is about', async () => {
    const listed = await rollcall(tenant.configPath, 'deletes', 'list', '--json');
    const lists = JSON.parse(listed.stdout) as {
      tenants: { collections: { keys: string[]; schools: { id: string; rows: number }[] }[] }[];
    };
    const [courses] = lists.tenants[0]?.collections ?? [];
    expect(courses?.schools.length).toBeGreaterThan(0);
    const run = startRollcall(tenant.configPath, ['run']);
    try {
      await run.says('"mirroring"');
      const url = `http://127.0.0.1:${/"port":(\d+)/.exec(run.output())?.[1] ?? ''}/status.json`;
      await vi.waitFor(
        async () => {
          const text = await (await fetch(url)).text();
          expect(text).toContain('rollcall deletes approve <digest>');
          for (const key of courses?.keys ?? []) expect(text).not.toContain(key);
        },
        { timeout: 60_000, interval: 500 },
      );
    } finally {
      run.kill('SIGTERM');
      await run.ended;
    }
  });
});
