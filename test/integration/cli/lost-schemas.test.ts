import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { fetchOffsets } from '../../../src/log/topic-offsets.ts';
import { readStretches } from '../../../src/log/kafka-reader.ts';
import { startStack } from '../../../stack/start-stack.ts';
import { plainKafka } from '../pipeline/kafka-admin.ts';
import { only } from '../support/only.ts';
import { connectAdmin } from './support/connect-admin.ts';
import { startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';

const WITHIN = { timeout: 60_000, interval: 500 } as const;

let tenant: TestTenant;
let own: Awaited<ReturnType<typeof startOwnRegistry>>;
beforeEach(async () => {
  [tenant, own] = await Promise.all([startTestTenant(), startOwnRegistry()]);
});
afterEach(async () => {
  await own.stop();
  await tenant[Symbol.asyncDispose]();
});

/** A registry that no other test uses, so that it may lose its schemas. */
async function startOwnRegistry() {
  const { kafkaBrokers, redisUrl } = inject('stack');
  vi.stubEnv('ROLLCALL_KAFKA_BROKERS', kafkaBrokers.join(','));
  vi.stubEnv('ROLLCALL_REDIS_URL', redisUrl);
  vi.stubEnv('ROLLCALL_REGISTRY_URL', undefined);
  const starting = startStack({ print: () => undefined, prefer: 'testcontainers' });
  return starting.finally(() => vi.unstubAllEnvs());
}

/** Restarts the registry, which keeps its schemas in memory, and lets other programs' schemas take the first ids. */
async function loseSchemas(): Promise<void> {
  await own.processes.registry?.restart();
  for (let at = 0; at < 30; at += 1) {
    const schema = JSON.stringify({
      type: 'record',
      name: `Other${at}`,
      fields: [{ name: 'a', type: 'string' }],
    });
    const answer = await fetch(`${own.registryUrl}/subjects/other-${at}/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema }),
    });
    expect(answer.status).toBe(200);
  }
}

/** The names of the schemas under which the last record of each key stands, as the registry gives them to a consumer. */
async function schemasIn(collection: string): Promise<Set<string>> {
  const topic = `${tenant.topicPrefix}.north.${collection}`;
  const admin = await connectAdmin();
  const ends = await fetchOffsets(admin, topic);
  await admin.disconnect();
  const last = new Map<string, Buffer | null>();
  await readStretches({
    kafka: plainKafka(),
    groupIdPrefix: tenant.topicPrefix,
    stretches: ends.map(({ low, high }, partition) => ({ topic, partition, from: low, to: high })),
    onMessages: ({ messages }) => {
      for (const { key, value } of messages) last.set(String(key), value);
      return Promise.resolve();
    },
    signal: new AbortController().signal,
  });
  const ids = new Set([...last.values()].flatMap((value) => (value === null ? [] : [value.readInt32BE(1)])));
  expect(ids.size).toBeGreaterThan(0);
  const names = [...ids].map(async (id) => {
    const answer = await fetch(`${own.registryUrl}/schemas/ids/${id}`);
    if (!answer.ok) return 'none';
    const { schema } = (await answer.json()) as { schema: string };
    return (JSON.parse(schema) as { name: string }).name;
  });
  return new Set(await Promise.all(names));
}

interface Status {
  readonly state: string;
  readonly headline: string;
  readonly decisions: readonly { readonly commands: readonly string[] }[];
}

async function statusOf(config: string): Promise<Status> {
  const { stdout } = await rollcall(config, 'status', '--json');
  const [status] = (JSON.parse(stdout) as { tenants: Status[] }).tenants;
  if (status === undefined) throw new Error(stdout);
  return status;
}

/** Runs every command that status prints. */
async function followRemedies(config: string, { decisions }: Status): Promise<void> {
  for (const command of decisions.flatMap(({ commands }) => commands)) {
    const ended = await rollcall(config, ...command.split(' ').slice(1));
    expect([command, ended.code, ended.stderr]).toEqual([command, 0, expect.anything()]);
  }
}

describe('a registry that lost its schemas', () => {
  it('while Rollcall runs: it is not ready by name, registers them again, and what status says makes all records readable', async (context) => {
    if (own.processes.registry === undefined) return context.skip('needs a registry that can be restarted');
    const config = tenant.configWith({
      registryUrl: own.registryUrl,
      collections: JSON.stringify(only({ users: { deltaEvery: '2s' }, orgs: { deltaEvery: '2s' } })),
    });
    const run = startRollcall(config, ['run']);
    try {
      await vi.waitFor(async () => expect((await statusOf(config)).state).toBe('well'), WITHIN);
      await loseSchemas();
      // It is not ready only until it has registered them again, so what it logged of that is looked for.
      await run.says(`under the id of the schema of ${tenant.topicPrefix}.north.`);
      await vi.waitFor(async () => {
        const { state, headline, decisions } = await statusOf(config);
        expect([state, decisions[0]?.commands.length]).toEqual(['needs-person', 2]);
        expect(headline).toContain('the registry has lost the schema of older records of');
      }, WITHIN);
      expect(await schemasIn('users')).not.toEqual(new Set(['User']));
      // A change goes out under an id that the registry has.
      const [id = ''] = tenant.hub.district.ids('users');
      tenant.hub.district.patch('users', id, { givenName: 'Somebody Else' });
      await run.says('"rowsUpdated":1');
      await followRemedies(config, await statusOf(config));
      await vi.waitFor(async () => expect((await statusOf(config)).state).toBe('well'), WITHIN);
      for (const [collection, name] of [
        ['users', 'User'],
        ['orgs', 'Org'],
        ['progress', 'Progress'],
      ] as const)
        expect([collection, await schemasIn(collection)]).toEqual([collection, new Set([name])]);
    } finally {
      run.kill('SIGTERM');
      await run.ended;
    }
  });

  it('before a start: the next one notices it, and the events of absences become readable too', async (context) => {
    if (own.processes.registry === undefined) return context.skip('needs a registry that can be restarted');
    const config = tenant.configWith({
      registryUrl: own.registryUrl,
      collections: '[orgs, absence-versions, absences, absence-changes]',
    });
    expect((await rollcall(config, 'pull', '--full')).code).toBe(0);
    await loseSchemas();
    expect((await rollcall(config, 'pull')).code).toBe(0);
    const status = await statusOf(config);
    expect(status.decisions[0]?.commands).toHaveLength(4);
    await followRemedies(config, status);
    expect((await statusOf(config)).decisions).toEqual([]);
    for (const [collection, name] of [
      ['orgs', 'Org'],
      ['absence-versions', 'AbsenceVersion'],
      ['absences', 'AbsenceVersion'],
      ['absence-changes', 'AbsenceChange'],
    ] as const)
      expect([collection, await schemasIn(collection)]).toEqual([collection, new Set([name])]);
  });
});
