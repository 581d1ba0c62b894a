import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { startStack } from '../../../stack/start-stack.ts';
import { only } from '../support/only.ts';
import { otherSchema, rawRecords, tellRegistry } from './support/plant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';
import { startTestTenant, type TestTenant } from './support/test-tenant.ts';

const WITHIN = { timeout: 60_000, interval: 200 } as const;

let tenant: TestTenant;
let own: Awaited<ReturnType<typeof startOwnRegistry>>;
beforeEach(async (context) => {
  [tenant, own] = await Promise.all([startTestTenant(), startOwnRegistry()]);
  if (own.processes.registry === undefined) context.skip('needs a registry that can be restarted');
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

const configOf = (collections: readonly string[] | Record<string, object>): string =>
  tenant.configWith({ collections, settings: { registry: { url: own.registryUrl } } });

/** Restarts the registry, which keeps its schemas in memory, and lets other programs' schemas take the first ids. */
async function loseSchemas(): Promise<void> {
  await own.processes.registry?.restart();
  for (let at = 0; at < 30; at += 1)
    await tellRegistry(`${own.registryUrl}/subjects/other-${at}/versions`, 'POST', otherSchema(`Other${at}`));
}

/** The name of the schema under which the last records of all keys stand, as the registry gives it to a consumer. */
async function schemasIn(collection: string): Promise<string> {
  const records = await rawRecords(tenant.topic(collection));
  const last = new Map(records.map(({ key, value }) => [key, value]));
  const ids = new Set([...last.values()].flatMap((value) => (value === null ? [] : [value.readInt32BE(1)])));
  const names = [...ids].map(async (id) => {
    const answer = await fetch(`${own.registryUrl}/schemas/ids/${id}`);
    if (!answer.ok) return 'none';
    const { schema } = (await answer.json()) as { schema: string };
    return (JSON.parse(schema) as { name: string }).name;
  });
  return [...new Set(await Promise.all(names))].join();
}

interface Status {
  readonly state: string;
  readonly headline: string;
  readonly decisions: readonly { readonly commands: readonly string[] }[];
}

async function statusOf(config: string): Promise<Status> {
  const ended = await rollcall(config, 'status', '--json');
  return ended.json<{ tenants: [Status] }>().tenants[0];
}

/** Runs every command that status prints. */
async function followRemedies(config: string, { decisions }: Status): Promise<void> {
  for (const command of decisions.flatMap(({ commands }) => commands)) {
    const { code } = await rollcall(config, ...command.split(' ').slice(1));
    expect([command, code]).toEqual([command, 0]);
  }
}

async function expectSchemas(wanted: Readonly<Record<string, string>>): Promise<void> {
  for (const [collection, name] of Object.entries(wanted))
    expect([collection, await schemasIn(collection)]).toEqual([collection, name]);
}

describe('a registry that lost its schemas', () => {
  it('while Rollcall runs: it is not ready by name, registers them again, and what status says makes all records readable', async () => {
    const config = configOf(only({ users: { deltaEvery: '2s' }, orgs: { deltaEvery: '2s' } }));
    await using run = startRollcall(config, 'run');
    await vi.waitFor(async () => expect((await statusOf(config)).state).toBe('well'), WITHIN);
    await loseSchemas();
    // It is not ready only until it has registered them again, so what it logged of that is looked for.
    await run.says(`under the id of the schema of ${tenant.topicPrefix}.north.`);
    await vi.waitFor(async () => {
      const { state, headline, decisions } = await statusOf(config);
      expect([state, decisions[0]?.commands.length]).toEqual(['needs-person', 2]);
      expect(headline).toContain('the registry has lost the schema of older records of');
    }, WITHIN);
    expect(await schemasIn('users')).not.toBe('User');
    // A change goes out under an id that the registry has.
    const [id = ''] = tenant.hub.district.ids('users');
    tenant.hub.district.patch('users', id, { givenName: 'Somebody Else' });
    await run.says('"rowsUpdated":1');
    await followRemedies(config, await statusOf(config));
    await vi.waitFor(async () => expect((await statusOf(config)).state).toBe('well'), WITHIN);
    await expectSchemas({ users: 'User', orgs: 'Org', progress: 'Progress' });
  });

  it('before a start: the next one notices it, and the events of absences become readable too', async () => {
    const config = configOf(['orgs', 'absence-versions', 'absences', 'absence-changes']);
    expect((await rollcall(config, 'pull', '--full')).code).toBe(0);
    await loseSchemas();
    expect((await rollcall(config, 'pull')).code).toBe(0);
    const status = await statusOf(config);
    expect(status.decisions[0]?.commands).toHaveLength(4);
    await followRemedies(config, status);
    expect((await statusOf(config)).decisions).toEqual([]);
    const versions = { 'absence-versions': 'AbsenceVersion', absences: 'AbsenceVersion' };
    await expectSchemas({ orgs: 'Org', ...versions, 'absence-changes': 'AbsenceChange' });
  });
});
