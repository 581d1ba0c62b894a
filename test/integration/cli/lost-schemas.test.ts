import { expect, inject, it, vi } from 'vitest';
import type { TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';
import { startStack } from '../../../stack/start-stack.ts';
import { only } from '../support/only.ts';
import { otherSchema, rawRecords, tellRegistry } from './support/plant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';
import { startTestTenant } from './support/test-tenant.ts';
import { verify } from './support/verify.ts';

/** A registry that no other test uses, so that it may lose its schemas. */
async function startOwnRegistry() {
  const { kafkaBrokers, redisUrl } = inject('stack');
  vi.stubEnv('ROLLCALL_KAFKA_BROKERS', kafkaBrokers.join(','));
  vi.stubEnv('ROLLCALL_REDIS_URL', redisUrl);
  vi.stubEnv('ROLLCALL_REGISTRY_URL', undefined);
  const starting = startStack({ print: () => undefined, prefer: 'testcontainers' });
  return starting.finally(() => vi.unstubAllEnvs());
}

const MIRRORED = only({
  orgs: {},
  users: {},
  'absence-summaries': {},
  'absence-versions': {},
  absences: {},
  'absence-changes': {},
});
const SCHEMAS = {
  orgs: 'Org',
  users: 'User',
  'absence-summaries': 'AbsenceSummary',
  'absence-versions': 'AbsenceVersion',
  absences: 'Absence',
  'absence-changes': 'AbsenceChange',
  progress: 'Progress',
  rejects: 'Reject',
};

it('a registry that lost its schemas gets them again, and commands that status names repair records', async (context) => {
  await using own = Object.assign(await startOwnRegistry(), {
    [Symbol.asyncDispose]: () => own.stop(),
  });
  const { registryUrl, processes } = own;
  const [registry] = processes.registry ?? [];
  if (registry === undefined) context.skip('needs a registry that can be restarted');
  await using tenant = await startTestTenant();
  const [version = ''] = tenant.hub.district.ids('absence-versions').map(String);
  tenant.hub.district.patch('absence-versions', version, { fromTime: 'sometime' });
  const config = tenant.configWith({
    collections: MIRRORED,
    tenant: { incrementalEvery: '2s' },
    settings: { registry: { url: registryUrl } },
  });

  /** Restarts the registry, which keeps its schemas in memory, and lets other programs' schemas take the first ids. */
  async function loseSchemas(others: number, ...next: readonly { schema: string }[]): Promise<void> {
    await registry?.restart();
    const schemas = Array.from({ length: others }, (_, at) => otherSchema(`Other${at}`));
    for (const [at, schema] of [...schemas, ...next].entries())
      await tellRegistry(`${registryUrl}/subjects/other-${at}/versions`, 'POST', schema);
  }
  /** The names of the schemas under which the last records of all keys for consumers stand, as the registry gives them. */
  async function schemasIn(collection: string): Promise<string> {
    const records = await rawRecords(tenant.topic(collection));
    const ofConsumers = records.filter(({ key }) => !key.startsWith('@'));
    const last = new Map(ofConsumers.map(({ key, value }) => [key, value]));
    const ids = new Set(
      [...last.values()].flatMap((value) => (value === null ? [] : [value.readInt32BE(1)])),
    );
    const names = [...ids].map(async (id) => {
      const answer = await fetch(`${registryUrl}/schemas/ids/${id}`);
      if (!answer.ok) return 'none';
      const { schema } = (await answer.json()) as { schema: string };
      return (JSON.parse(schema) as { name: string }).name;
    });
    return [...new Set(await Promise.all(names))].join();
  }
  const status = async () =>
    (await rollcall(config, 'status', '--json')).json<{ tenants: [TenantStatus] }>().tenants[0];
  const isWell = () => vi.waitFor(async () => expect((await status()).state).toBe('well'));
  /** Runs every command that status prints. */
  async function followRemedies(): Promise<void> {
    for (const command of (await status()).decisions.flatMap(({ commands }) => commands)) {
      const { code } = await rollcall(config, ...command.split(' ').slice(1));
      expect([command, code]).toEqual([command, 0]);
    }
    for (const [collection, name] of Object.entries(SCHEMAS))
      expect([collection, await schemasIn(collection)]).toEqual([collection, name]);
  }

  const run = startRollcall(config, 'run');
  await isWell();
  await loseSchemas(30);
  // It is not ready only until it has registered them again, so what it logged of that is looked for.
  // Who notices it first, the tenant or the check of the registry, depends on how long the restart took.
  await run.says('(SCHEMA_LOST)');
  await vi.waitFor(async () => {
    const { state, headline, decisions } = await status();
    expect([state, decisions[0]?.commands.length]).toEqual(['needs-person', 6]);
    expect(headline).toContain('the registry has lost the schema of older records of');
  });
  expect(await schemasIn('orgs')).not.toBe('Org');
  // A change goes out under an id that the registry has.
  const [id = ''] = tenant.hub.district.ids('orgs');
  tenant.hub.district.patch('orgs', id, { name: 'Another school' });
  await run.says('"rowsUpdated":1');
  await followRemedies();
  await isWell();
  expect((await run.stop()).code).toBe(0);

  // The id under which users stand becomes that of the schema of absence-summaries.
  const idOfUsers = (await rawRecords(tenant.topic('users'))).at(-1)?.value?.readInt32BE(1) ?? 0;
  const summary = readSchemaFiles().get('absence-summaries');
  const more = Array.from({ length: 30 }, (_, at) => otherSchema(`Later${at}`));
  await loseSchemas(idOfUsers - 1, { schema: JSON.stringify(summary) }, ...more);
  expect((await rollcall(config, 'pull')).code).toBe(0);
  expect((await status()).decisions[0]?.commands).toHaveLength(6);
  await followRemedies();
  expect((await status()).decisions).toEqual([]);
  expect(await verify(config)).toEqual({ code: 0, found: [] });
});
