import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { withAdmin } from '../pipeline/kafka-admin.ts';
import type { MirrorOptions } from '../support/mirror.ts';
import { otherSchema, tellRegistry } from './support/plant.ts';
import { rollcall } from './support/rollcall.ts';
import { startTestTenant, type TestTenant } from './support/test-tenant.ts';

const NOBODY = '127.0.0.1:1';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
});
afterAll(() => tenant[Symbol.asyncDispose]());

interface Finding {
  readonly section: string;
  readonly level: string;
  readonly subject: string;
  readonly remedy?: string;
}

describe('check', () => {
  it('reports no failure where nothing is wrong, and changes nothing', async () => {
    const { stdout, code } = await rollcall(tenant.config, 'check');
    expect(stdout).toMatch(/✓ \d+ checks, nothing failed\n$/);
    expect(stdout).toContain('0 as in the contract, 5 to be created at the start');
    expect(code).toBe(0);
    const subjects = (await (await fetch(`${inject('stack').registryUrl}/subjects`)).json()) as string[];
    const names = await withAdmin(async (admin) => {
      const { groups } = await admin.listGroups();
      return [...(await admin.listTopics()), ...groups.map(({ groupId }) => groupId), ...subjects];
    });
    expect(names.filter((name) => name.startsWith(tenant.topicPrefix))).toEqual([]);
  });

  const hub = (path: string) => `http://${NOBODY}/${path}`;
  it.each<[string, () => MirrorOptions, readonly (readonly [section: string, remedy: string])[]]>([
    [
      'each part that is away',
      () => ({
        hubSettings: { baseUrl: hub('north'), tokenUrl: hub('token') },
        settings: {
          kafka: { brokers: [NOBODY] },
          registry: { url: `http://${NOBODY}` },
          redis: { url: `redis://${NOBODY}` },
        },
      }),
      [
        ['Kafka', 'kafka.brokers'],
        ['Schema registry', 'registry.url'],
        ['Redis', 'redis.url'],
        ['Hub of north', 'hub.tokenUrl'],
      ],
    ],
    [
      'wrong credentials, and not the secret',
      () => ({ hubSettings: { clientSecret: 'S3CRET-and-wrong' } }),
      [['Hub of north', 'hub.clientSecret']],
    ],
    [
      'a registry address that leads to another server',
      () => ({ settings: { registry: { url: tenant.hub.controlUrl } } }),
      [['Schema registry', 'registry.url']],
    ],
    [
      'a replication factor that the cluster cannot give',
      () => ({ settings: { kafka: { replicationFactor: 7 } } }),
      [['Kafka', 'kafka.replicationFactor']],
    ],
  ])('reports %s, with the setting to look at', async (_, options, failures) => {
    const ended = await rollcall(tenant.configWith(options()), 'check', '--json');
    expect([ended.code, ended.stderr]).toEqual([1, '']);
    expect(ended.stdout).not.toContain('S3CRET');
    const { findings } = ended.json<{ findings: Finding[] }>();
    const failed = findings.filter(({ level }) => level === 'failure');
    expect(failed.map(({ section, remedy }) => [section.split('  ')[0], remedy])).toEqual(
      failures.map(([section, remedy]) => [section, expect.stringContaining(remedy)]),
    );
  });

  it("reports another program's schema and a changed compatibility level, with the subject and the remedy", async () => {
    const { registryUrl } = inject('stack');
    const wrongTenant = `${tenant.topic('users')}-value`;
    const weakened = `${tenant.topic('orgs')}-value`;
    for (const [subject, compatibility] of [
      [wrongTenant, 'FULL_TRANSITIVE'],
      [weakened, 'NONE'],
    ]) {
      await tellRegistry(`${registryUrl}/subjects/${subject}/versions`, 'POST', otherSchema());
      await tellRegistry(`${registryUrl}/config/${subject}`, 'PUT', { compatibility });
    }
    const { code, stdout } = await rollcall(tenant.config, 'check');
    expect(code).toBe(1);
    expect(stdout).toContain(`The schema of ${wrongTenant} does not fit the versions already registered`);
    expect(stdout).toContain(`${weakened} has compatibility NONE`);
    expect(stdout).toContain(`PUT ${registryUrl}/config/${weakened}`);
  });
});
