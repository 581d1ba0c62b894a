import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MirrorOptions } from '../support/mirror.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/test-tenant.ts';

const NOBODY = '127.0.0.1:1';
const withoutRedis = { settings: { redis: { url: `redis://${NOBODY}` } } };

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
  await tenant.full(...COLLECTIONS);
});
afterAll(() => tenant[Symbol.asyncDispose]());

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

interface Tailed {
  readonly key: string;
  readonly headers: Record<string, string>;
  readonly value?: { readonly sourcedId: string } | null;
}

const records = (text: string): Tailed[] => lines(text).map((line) => JSON.parse(line) as Tailed);

describe('tail', () => {
  it('prints every existing record with its value, one JSON line each, and ends at the end of the topic', async () => {
    const ids = tenant.hub.district.ids('users');
    const ended = await rollcall(tenant.config, 'tail', 'users', '--to-end', '--values');
    expect([ended.code, ended.stderr]).toEqual([0, `${ids.length} records\n`]);
    const found = records(ended.stdout);
    expect(found.map(({ key }) => key).toSorted()).toEqual([...ids].toSorted());
    for (const { key, value } of found) expect(value?.sourcedId).toBe(key);
  });

  it('shows all records after its start and no earlier ones, none of their content, and exits with 0 on Ctrl-C', async () => {
    const ids = tenant.hub.district.ids('orgs').slice(0, 2);
    const tail = startRollcall(tenant.config, 'tail', 'orgs');
    await tail.says('listening to');
    for (const id of ids) tenant.hub.district.patch('orgs', id, { name: 'Oppdiktet skole' });
    await tenant.full('orgs');
    await Promise.all(ids.map((id) => tail.says(id)));
    tail.kill('SIGINT');
    const { code, stdout } = await tail.ended;
    // They may be of two partitions, which have no order.
    const found = records(stdout).map(
      ({ key, headers, value }) => `${key} ${headers['ce_type']} ${typeof value}`,
    );
    expect(found.toSorted()).toEqual(ids.map((id) => `${id} rollcall.orgs.updated undefined`).toSorted());
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('Oppdiktet')]);
  });
});

describe('what a verb cannot do', () => {
  const noKafka = { settings: { kafka: { brokers: [NOBODY] } } };
  const noRegistry = { settings: { registry: { url: `http://${NOBODY}` } } };
  it.concurrent.each<[words: string, code: number, remedy: string, options: MirrorOptions]>([
    ['tail', 2, 'absence-changes', {}],
    ['tail classes', 1, 'rollcall topics apply', {}],
    ['tail users --to-end --values', 1, 'registry.url', noRegistry],
    ['state show', 1, 'redis.url', withoutRedis],
    ['status', 1, 'kafka.brokers', noKafka],
    ['tail users', 1, 'kafka.brokers', noKafka],
    ['state show', 1, 'kafka.brokers', noKafka],
    ['topics list', 1, 'kafka.brokers', noKafka],
    ['topics apply', 1, 'kafka.brokers', noKafka],
    ['plan', 1, 'kafka.brokers', noKafka],
  ])('"%s" exits with %i and names a remedy, %s', async (words, code, remedy, options) => {
    const ended = await rollcall(tenant.configWith(options), ...words.split(' '));
    expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(remedy) });
    expect(ended.stderr).not.toMatch(/^\s+at /m);
  });
});

describe('status', () => {
  it('shows the rows of the hub after a full sync, and sends the hub no request', async () => {
    tenant.hub.requests.clear();
    const ended = await rollcall(tenant.config, 'status', '--json');
    expect(tenant.hub.requests.all()).toEqual([]);
    expect(ended.code).toBe(1);
    const [north] = ended.json<{ tenants: { collections: { collection: string; rows: number }[] }[] }>()
      .tenants;
    expect(north).toMatchObject({ state: 'in-trouble', isOwnerAlive: false });
    expect(north?.collections.map(({ collection, rows }) => [collection, rows])).toEqual(
      COLLECTIONS.map((name) => [name, tenant.hub.district.ids(name).length]),
    );
  });

  it('shows the rows even while Redis is away, says so and not that all is well, and exits with 1', async () => {
    const { code, stdout } = await rollcall(tenant.configWith(withoutRedis), 'status');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ \S+  redis: /m);
    expect(stdout).toMatch(new RegExp(`^ *users +${tenant.hub.district.ids('users').length} `, 'm'));
    expect(stdout).toContain(`Redis at ${NOBODY} does not answer`);
  });
});

describe('verbs that only read', () => {
  it('need no credential of the hub, and others name the variable that is missing', async () => {
    const config = tenant.configWith({ hubSettings: { clientSecret: '${HUB_SECRET}' } });
    const show = 'state show --collection users orgs';
    // No process mirrors the tenant.
    for (const [code, words] of [
      [1, 'status'],
      [0, 'tail orgs users --to-end'],
      [0, 'topics list'],
      [0, show],
      [0, 'deletes list'],
    ] as const)
      expect([words, (await rollcall(config, ...words.split(' '))).code]).toEqual([words, code]);
    const pull = await rollcall(config, 'pull');
    expect([pull.code, pull.stderr]).toEqual([2, expect.stringContaining('HUB_SECRET')]);
  });
});

describe('state show', () => {
  it('shows that index and log have come to the same transaction, and how many rows the index has', async () => {
    const ended = await rollcall(tenant.config, 'state', 'show', '--collection', 'users', '--json');
    expect(ended.code).toBe(0);
    const { collections } = ended.json<{ collections: { index: object; log: object }[] }>();
    const rows = tenant.hub.district.ids('users').length;
    expect(collections).toMatchObject([{ tenant: 'north', collection: 'users', rows, rejects: 0 }]);
    expect(collections[0]?.index).toMatchObject({ sequence: 1 });
    expect(collections[0]?.log).toEqual(collections[0]?.index);
    // For people, one table with a line for each tenant and collection.
    const [titles, ...table] = lines((await rollcall(tenant.config, 'state', 'show')).stdout);
    expect(titles).toMatch(/^tenant +collection +index at +log at +rows +rejects$/);
    expect(table).toHaveLength(COLLECTIONS.length);
    for (const row of table) expect(row).toMatch(/^north +\S+ +(\d+ \S{8}) +\1 +\d+ +\d+$/);
  });
});
