import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectAdmin } from './support/connect-admin.ts';
import { startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall } from './support/rollcall.ts';

const { ConfigResourceTypes } = kafkajs;

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
});
afterAll(() => tenant[Symbol.asyncDispose]());

async function setTopic(topic: string, entries: Record<string, string>): Promise<void> {
  const admin = await connectAdmin();
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: ConfigResourceTypes.TOPIC,
        name: topic,
        configEntries: Object.entries(entries).map(([name, value]) => ({ name, value })),
      },
    ],
  });
  await admin.disconnect();
}

describe('topics', () => {
  it('list reports missing topics and creates none; apply creates them, and shows them', async () => {
    const before = await rollcall(tenant.configPath, 'topics', 'list');
    expect(before).toMatchObject({ code: 1, stdout: expect.stringContaining('5 of 5 missing or different') });
    const republication = await rollcall(tenant.configPath, 'topics', 'list', '--json');
    expect(JSON.parse(republication.stdout)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ topic: `${tenant.topicPrefix}.north.users`, exists: false }),
      ]),
    );
    const applied = await rollcall(tenant.configPath, 'topics', 'apply');
    expect(applied).toMatchObject({ code: 0, stdout: expect.stringMatching(/users +3 +equal/) });
    expect(await rollcall(tenant.configPath, 'topics', 'list')).toMatchObject({ code: 0 });
  });

  it('apply corrects settings that differ from the contract and leaves the others as they are', async () => {
    const topic = `${tenant.topicPrefix}.north.users`;
    await setTopic(topic, { 'cleanup.policy': 'delete', 'max.message.bytes': '2000000' });
    const listed = await rollcall(tenant.configPath, 'topics', 'list');
    expect(listed).toMatchObject({ code: 1, stdout: expect.stringContaining('cleanup.policy is delete') });
    const checked = await rollcall(tenant.configPath, 'check');
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining('rollcall topics apply') });
    const applied = await rollcall(tenant.configPath, 'topics', 'apply');
    expect(applied).toMatchObject({ code: 0, stdout: expect.stringMatching(/✓ +\S+users +3 +equal/) });
    const admin = await connectAdmin();
    // A broker returns the old settings for a moment.
    await vi.waitFor(async () => {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
      });
      const settings = new Map(
        resources[0]?.configEntries.map((each) => [each.configName, each.configValue]),
      );
      expect(settings.get('cleanup.policy')).toBe('compact');
      expect(settings.get('max.message.bytes')).toBe('2000000');
    });
    await admin.disconnect();
  });

  it('apply changes no partition count: it exits with 1 and says what to do', async () => {
    const config = tenant.configWith({
      kafka: 'replicationFactor: 1\n  partitions: { default: 3, users: 5 }',
    });
    const { code, stdout } = await rollcall(config, 'topics', 'apply');
    expect(code).toBe(1);
    expect(stdout).toContain('it has 3 partitions, the configuration says 5');
    expect(stdout).toContain('kafka.partitions');
  });
});
