import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall } from './support/rollcall.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
  await tenant.sync('FULL', COLLECTIONS);
});
afterAll(() => tenant[Symbol.asyncDispose]());

describe('after a full sync whose lists were all empty', () => {
  it('pull says what to do, and status does not say "all well"', async () => {
    expect((await rollcall(tenant.configPath, 'status')).stdout).toContain('all well');
    tenant.hub.faults.set('empty-list');
    const pull = await rollcall(tenant.configPath, 'pull', '--full');
    expect(pull.code).toBe(1);
    expect(pull.stderr).toMatch(/^✗ .*users[^\n]*\n→ \S/m);
    const status = await rollcall(tenant.configPath, 'status');
    expect(status.stdout).not.toContain('all well');
    expect(status.stdout).toContain('not complete: the last sync of orgs, courses, users');
    expect(status.code).toBe(3);
  });
});
