import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectAdmin } from './support/connect-admin.ts';
import { startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall } from './support/rollcall.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
});
afterAll(() => tenant[Symbol.asyncDispose]());

interface Reported {
  readonly ok: boolean;
  readonly findings: readonly {
    readonly section: string;
    readonly level: string;
    readonly subject: string;
    readonly text: string;
    readonly remedy?: string;
  }[];
}

async function check(configPath: string): Promise<Reported & { code: number | null; stderr: string }> {
  const { code, stdout, stderr } = await rollcall(configPath, 'check', '--json');
  return { ...(JSON.parse(stdout) as Reported), code, stderr };
}

describe('check', () => {
  it('reports no failure where nothing is wrong, and changes nothing', async () => {
    const { stdout, code } = await rollcall(tenant.configPath, 'check');
    expect(stdout).toMatch(/✓ \d+ checks, nothing failed\n$/);
    expect(stdout).toContain('0 as in the contract, 5 to be created at the start');
    expect(code).toBe(0);
    const admin = await connectAdmin();
    const topics = await admin.listTopics();
    const groups = await admin.listGroups();
    await admin.disconnect();
    expect(topics.filter((name) => name.startsWith(tenant.topicPrefix))).toEqual([]);
    expect(groups.groups.filter(({ groupId }) => groupId.startsWith(tenant.topicPrefix))).toEqual([]);
    const subjects = (await (await fetch(`${inject('stack').registryUrl}/subjects`)).json()) as string[];
    expect(subjects.filter((name) => name.startsWith(tenant.topicPrefix))).toEqual([]);
  });

  it('reports each part that is away, with a remedy', async () => {
    const away = tenant.configWith({
      brokers: '127.0.0.1:1',
      registryUrl: 'http://127.0.0.1:1',
      redisUrl: 'redis://127.0.0.1:1',
      baseUrl: 'http://127.0.0.1:1/north',
      tokenUrl: 'http://127.0.0.1:1/token',
    });
    const { code, findings, stderr } = await check(away);
    expect(code).toBe(1);
    const failed = findings.filter(({ level }) => level === 'failure');
    expect(failed.map(({ section }) => section.split('  ')[0])).toEqual([
      'Kafka',
      'Schema registry',
      'Redis',
      'Hub of north',
    ]);
    for (const { remedy } of failed) expect(remedy).toMatch(/\w{5}/);
    // A check that takes long says what it waits for.
    expect(stderr.replaceAll(/^Kafka .* has not answered yet; still trying\.$/gm, '').trim()).toBe('');
  });

  it('reports wrong credentials with the setting to look at, and without the secret', async () => {
    const { code, findings } = await check(tenant.configWith({ clientSecret: 'S3CRET-and-wrong' }));
    expect(code).toBe(1);
    const token = findings.find(({ subject }) => subject === 'token');
    expect(token).toMatchObject({ level: 'failure', remedy: expect.stringContaining('hub.clientSecret') });
    expect(JSON.stringify(findings)).not.toContain('S3CRET');
  });

  it('reports a wrong base URL as one failure that names the setting', async () => {
    const baseUrl = tenant.hub.baseUrl.replace('/north', '/south');
    const { code, findings } = await check(tenant.configWith({ baseUrl }));
    expect(code).toBe(1);
    const failed = findings.filter(({ level }) => level === 'failure');
    expect(failed).toHaveLength(1);
    expect(failed[0]?.remedy).toContain('hub.baseUrl');
  });

  it('reports a registry address that leads to another server', async () => {
    const { findings } = await check(tenant.configWith({ registryUrl: tenant.hub.controlUrl }));
    const registry = findings.find(({ section }) => section === 'Schema registry');
    expect(registry).toMatchObject({ level: 'failure', remedy: expect.stringContaining('registry.url') });
  });

  it('reports a replication factor that the cluster cannot give', async () => {
    const { code, findings } = await check(tenant.configWith({ kafka: 'replicationFactor: 7' }));
    expect(code).toBe(1);
    expect(findings.find(({ subject }) => subject === 'creation')).toMatchObject({
      level: 'failure',
      remedy: expect.stringContaining('kafka.replicationFactor'),
    });
  });

  it('reports each collection that the hub refuses or does not offer', async () => {
    tenant.hub.faults.set('status=403@orgs');
    tenant.hub.faults.set('not-offered@courses');
    try {
      const { code, findings } = await check(tenant.configPath);
      expect(code).toBe(1);
      const levels = Object.fromEntries(findings.map(({ subject, level }) => [subject, level]));
      expect(levels).toMatchObject({ orgs: 'failure', courses: 'warning', users: 'ok' });
    } finally {
      tenant.hub.faults.clear();
    }
  });

  it('exits with 2 and lists the mistakes of a configuration', async () => {
    const { code, stdout, stderr } = await rollcall(
      tenant.configWith({ kafka: 'replicationFaktor: 1' }),
      'check',
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('replicationFaktor is not a known key');
  });
});
