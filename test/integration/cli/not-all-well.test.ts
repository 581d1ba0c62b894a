import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startFrailProxy } from '../state/frail-proxy.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
  await tenant.sync('FULL', COLLECTIONS);
});
afterAll(() => tenant[Symbol.asyncDispose]());

describe('after a full sync whose lists were all empty', () => {
  it('pull and status say that a person must decide, and no row is removed', async () => {
    tenant.hub.faults.set('empty-list');
    const pull = await rollcall(tenant.configPath, 'pull', '--full');
    expect(pull.code).toBe(3);
    expect(pull.stderr + pull.stdout).toContain('deletes list');
    const status = await rollcall(tenant.configPath, 'status');
    expect(status.stdout).not.toContain('all well');
    expect(status.stdout).toContain('needs a decision');
    expect(status.code).toBe(3);
  });
});

describe('without a process that mirrors', () => {
  it('status says so within a minute of its end, also of a kill', async () => {
    tenant.hub.faults.clear();
    await tenant.sync('FULL', COLLECTIONS);
    const says = (text: string) =>
      vi.waitFor(async () => expect((await rollcall(tenant.configPath, 'status')).stdout).toContain(text), {
        timeout: 60_000,
        interval: 1_000,
      });
    const run = startRollcall(tenant.configPath, ['run']);
    await says('all well');
    expect((await rollcall(tenant.configPath, 'status')).code).toBe(0);
    run.kill('SIGKILL');
    await run.ended;
    await says('✗ north  owner: no process mirrors the tenant');
    expect((await rollcall(tenant.configPath, 'status')).code).toBe(1);
  });
});

describe('a schema registry that goes away while rollcall run mirrors', () => {
  it('shows within a minute in status, /readyz, /status.json and the metrics, and goes when it is back', async () => {
    tenant.hub.faults.clear();
    const proxy = await startFrailProxy(inject('stack').registryUrl);
    const registry = new URL(inject('stack').registryUrl);
    registry.host = new URL(proxy.url).host;
    const config = tenant.configWith({ registryUrl: registry.href });
    const run = startRollcall(config, ['run']);
    try {
      await run.says('"mirroring"');
      const url = `http://127.0.0.1:${/"port":(\d+)/.exec(run.output())?.[1] ?? ''}`;
      const ready = async () => (await fetch(`${url}/readyz`)).status;
      await vi.waitFor(async () => expect(await ready()).toBe(200), { timeout: 60_000, interval: 200 });
      proxy.cut();
      await vi.waitFor(async () => expect(await ready()).toBe(503), { timeout: 60_000, interval: 200 });
      const json = (await (await fetch(`${url}/status.json`)).json()) as { tenants: { headline: string }[] };
      expect(json.tenants[0]?.headline).toContain('registry: The schema registry');
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toContain('rollcall_ready{tenant="north",part="registry"} 0');
      // The verb reads the heartbeat, and decodes progress with a registry of its own that answers.
      await vi.waitFor(
        async () => expect((await rollcall(tenant.configPath, 'status')).stdout).toContain('registry'),
        { timeout: 30_000, interval: 1_000 },
      );
      proxy.mend();
      await vi.waitFor(async () => expect(await ready()).toBe(200), { timeout: 60_000, interval: 200 });
    } finally {
      run.kill('SIGTERM');
      await run.ended;
      await proxy.close();
    }
  });
});
