import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
  tenant.hub.faults.set('not-offered@absence-versions');
});
afterAll(() => tenant[Symbol.asyncDispose]());

describe('a hub without absences', () => {
  it('is mirrored: pull exits with 0 each time and says what is not offered', async () => {
    const collections = '[orgs, students, absence-versions, absences, absence-changes, schedules]';
    const configPath = tenant.configWith({ collections });
    for (let republication = 0; republication < 2; republication += 1) {
      const pull = await rollcall(configPath, 'pull', '--full');
      expect(pull.stdout).toMatch(/schedules +not-offered/);
      expect(pull.stderr).not.toContain('✗');
      expect(pull.code).toBe(0);
    }
    const status = await rollcall(configPath, 'status');
    expect(status.stdout).toContain('no process mirrors the tenant');
    expect(status.code).toBe(1);
    const run = startRollcall(configPath, ['run']);
    try {
      await vi.waitFor(
        async () => {
          const { code, stdout } = await rollcall(configPath, 'status');
          expect([code, stdout]).toEqual([
            0,
            expect.stringContaining('all well; the hub does not offer absence-versions, schedules'),
          ]);
          expect(stdout).toMatch(/absence-changes .* not offered/);
        },
        { timeout: 60_000, interval: 1_000 },
      );
    } finally {
      run.kill('SIGTERM');
      await run.ended;
    }
    expect(tenant.hub.district.ids('students').length).toBeGreaterThan(0);
  });
});
