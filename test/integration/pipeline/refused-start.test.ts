import { ConfigResourceTypes } from 'kafkajs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { startOwnRedis } from '../state/own-redis.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { createTopic, deleteTopicsOf, withAdmin } from './kafka-admin.ts';
import { startRollcall } from './rollcall-process.ts';

const OPTIONS = { collections: ['users', 'orgs'] } as const;
const DAY_MS = 86_400_000;

const SETTINGS = [
  { name: 'cleanup.policy', value: 'compact' },
  { name: 'delete.retention.ms', value: String(7 * DAY_MS) },
  { name: 'segment.ms', value: String(DAY_MS) },
  { name: 'max.compaction.lag.ms', value: String(DAY_MS) },
];

let hub: ReferenceHub;
let topicPrefix: string;

beforeAll(async () => {
  hub = await startTestHub();
});
beforeEach(() => {
  topicPrefix = newTopicPrefix();
  return () => deleteTopicsOf(topicPrefix);
});
afterAll(() => hub.stop());

/** Runs a verb to its end, expects this exit code, and returns the output. */
async function run(verb: 'run' | 'pull', code: number): Promise<string> {
  await using child = await startRollcall([verb], configTextOf(hub, topicPrefix, OPTIONS));
  await child.endsWith(code);
  expect(child.output()).not.toMatch(/^\s+at /m);
  expect(child.output()).not.toContain(hub.clientSecret);
  return child.output();
}

describe('topics that differ from the contract', () => {
  async function createUsersTopic(
    changes: Readonly<Record<string, string>>,
    numPartitions = 3,
  ): Promise<void> {
    await createTopic({
      topic: `${topicPrefix}.north.users`,
      numPartitions,
      configEntries: SETTINGS.map(({ name, value }) => ({ name, value: changes[name] ?? value })),
    });
  }

  /** Everything of the tenant in Kafka: names, partitions, the settings of the contract. */
  async function standing(): Promise<unknown> {
    return withAdmin(async (admin) => {
      const names = (await admin.listTopics()).filter((name) => name.startsWith(`${topicPrefix}.`));
      const { topics } = await admin.fetchTopicMetadata({ topics: names });
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: names.map((name) => ({ type: ConfigResourceTypes.TOPIC, name })),
      });
      return {
        partitions: topics.map(({ name, partitions }) => [name, partitions.length]),
        settings: resources.map(({ configEntries }) =>
          configEntries.map(({ configName, configValue }) => `${configName}=${configValue}`),
        ),
      };
    });
  }

  it.each([
    ['cleanup.policy', { 'cleanup.policy': 'delete' }, 'cleanup.policy is delete, should be compact'],
    ['segment.ms', { 'segment.ms': '604800000' }, 'segment.ms is 604800000, should be at most 86400000'],
    [
      'delete.retention.ms',
      { 'delete.retention.ms': '1000' },
      'delete.retention.ms is 1000, should be at least 604800000',
    ],
  ])('another %s is refused with the difference, and nothing is altered', async (_, changes, difference) => {
    await createUsersTopic(changes);
    const before = await standing();
    const output = await run('run', 1);
    expect(output).toContain(`${topicPrefix}.north.users: ${difference}`);
    expect(output).toContain('rollcall topics apply');
    expect(await standing()).toEqual(before);
  });

  it('another number of partitions is refused with both numbers, and nothing is altered', async () => {
    await createUsersTopic({ 'segment.ms': '604800000' }, 2);
    const before = await standing();
    for (const verb of ['run', 'pull'] as const) {
      const output = await run(verb, 1);
      expect(output).toContain('it has 2 partitions, the configuration says 3');
      expect(output).toContain('segment.ms is 604800000');
      expect(output).toContain('kafka.partitions');
    }
    expect(await standing()).toEqual(before);
  });

  it('stricter settings than the contract asks for are accepted', async () => {
    await createUsersTopic({ 'segment.ms': '3600000', 'delete.retention.ms': String(30 * DAY_MS) });
    await run('pull', 0);
  });
});

describe('schemas that differ from the contract', () => {
  async function call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${inject('stack').registryUrl}${path}`, {
      method,
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response.json();
  }

  const subject = () => `${topicPrefix}.north.users-value`;

  async function register(fields: readonly object[]): Promise<void> {
    const schema = JSON.stringify({ type: 'record', name: 'User', namespace: 'rollcall', fields });
    expect(await call('POST', `/subjects/${subject()}/versions`, { schema })).toHaveProperty('id');
  }

  it('an incompatible schema under the subject is refused, and stays the only version', async () => {
    await register([{ name: 'sourcedId', type: 'int' }]);
    await call('PUT', `/config/${subject()}`, { compatibility: 'FULL_TRANSITIVE' });
    const output = await run('run', 1);
    expect(output).toContain(`The schema of ${subject()} does not fit the versions already registered`);
    expect(output).toContain('→ Check GET');
    expect(await call('GET', `/subjects/${subject()}/versions`)).toEqual([1]);
    expect(await withAdmin((admin) => admin.listTopics())).not.toContain(`${topicPrefix}.north.users`);
  });

  it('a weaker level of compatibility is refused with both levels, and is not altered', async () => {
    await register([{ name: 'sourcedId', type: 'string' }]);
    await call('PUT', `/config/${subject()}`, { compatibility: 'BACKWARD' });
    const output = await run('run', 1);
    expect(output).toContain(
      `${subject()} has compatibility BACKWARD, the contract requires FULL_TRANSITIVE`,
    );
    expect(await call('GET', `/config/${subject()}`)).toMatchObject({ compatibilityLevel: 'BACKWARD' });
    expect(await call('GET', `/subjects/${subject()}/versions`)).toEqual([1]);
  });

  it('a subject without a level gets FULL_TRANSITIVE', async () => {
    await run('pull', 0);
    expect(await call('GET', `/config/${subject()}`)).toMatchObject({
      compatibilityLevel: 'FULL_TRANSITIVE',
    });
  });
});

describe('a Redis that may evict the index', () => {
  it('keeps the process unready, with the reason, until the policy is corrected', async () => {
    const server = await startOwnRedis();
    const admin = new Redis(server.url);
    try {
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
      const settings = { redis: { url: server.url, keyPrefix: 'rollcall' } };
      await using child = await startRollcall(
        ['run'],
        configTextOf(hub, topicPrefix, { ...OPTIONS, settings }),
      );
      await vi.waitFor(
        async () => {
          const readiness = await child.readiness();
          expect(readiness?.status).toBe(503);
          expect(readiness?.text).toContain('allkeys-lru');
          expect(readiness?.text).toContain('noeviction');
        },
        { timeout: 30_000, interval: 100 },
      );
      expect(await withAdmin((kafka) => kafka.listTopics())).not.toContain(`${topicPrefix}.north.users`);
      await admin.config('SET', 'maxmemory-policy', 'noeviction');
      await vi.waitFor(async () => expect((await child.readiness())?.status).toBe(200), 40_000);
      child.kill('SIGTERM');
      await child.endsWith(0);
    } finally {
      admin.disconnect();
      await server.stop();
    }
  });
});
