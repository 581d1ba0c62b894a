import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configFile } from './support/config-file.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';

const NOBODY = '127.0.0.1:1';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
  await tenant.sync('FULL', COLLECTIONS);
});
afterAll(() => tenant[Symbol.asyncDispose]());

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

interface Tailed {
  readonly topic: string;
  readonly key: string;
  readonly headers: Record<string, string>;
  readonly value?: { readonly sourcedId: string } | null;
}

const records = (text: string): Tailed[] => lines(text).map((line) => JSON.parse(line) as Tailed);

describe('tail', () => {
  it('prints every existing record with its value, one JSON line each, and ends at the end of the topic', async () => {
    const ids = tenant.hub.district.ids('users');
    const { code, stdout, stderr } = await rollcall(
      tenant.configPath,
      'tail',
      'users',
      '--to-end',
      '--values',
    );
    expect([code, stderr]).toEqual([0, `${ids.length} records\n`]);
    expect(
      records(stdout)
        .map(({ key }) => key)
        .toSorted(),
    ).toEqual([...ids].toSorted());
    for (const { key, value } of records(stdout)) expect(value?.sourcedId).toBe(key);
  });

  it('shows all records after its start and no earlier ones, none of their content, and exits with 0 on Ctrl-C', async () => {
    const [first = '', second = ''] = tenant.hub.district.ids('orgs');
    const tail = startRollcall(tenant.configPath, ['tail', 'orgs']);
    await tail.says('listening to');
    tenant.hub.district.patch('orgs', first, { name: 'Oppdiktet skole' });
    tenant.hub.district.patch('orgs', second, { name: 'En annen skole' });
    await tenant.sync('INCREMENTAL', ['orgs']);
    await Promise.all([tail.says(first), tail.says(second)]);
    tail.kill('SIGINT');
    const { code, stdout } = await tail.ended;
    expect(code).toBe(0);
    // They may be of two partitions, which have no order.
    expect(records(stdout).map(({ key }) => key)).toHaveLength(2);
    expect(new Set(records(stdout).map(({ key }) => key))).toEqual(new Set([first, second]));
    for (const { headers, value } of records(stdout))
      expect([headers['ce_type'], value]).toEqual(['rollcall.orgs.updated', undefined]);
    expect(stdout).not.toContain('Oppdiktet');
  });

  it.each([
    [['tail'], 2, 'absence-changes'],
    [['tail', 'userz'], 2, 'There are: orgs'],
    [['tail', 'users', '--tenant', 'south'], 2, 'There are: north'],
    [['tail', 'classes'], 1, 'rollcall topics apply'],
  ])('%j exits with %i and names a remedy', async (args, expected, remedy) => {
    const { code, stderr } = await rollcall(tenant.configPath, ...args);
    expect(code).toBe(expected);
    expect(stderr).toContain(remedy);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('names a registry that is away, without a stack trace', async () => {
    const config = tenant.configWith({ registryUrl: `http://${NOBODY}` });
    const { code, stderr } = await rollcall(config, 'tail', 'users', '--to-end', '--values');
    expect(code).toBe(1);
    expect(stderr).toContain('registry.url');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('status', () => {
  it('shows the rows of the hub after a full sync, and not as well while no process mirrors the tenant', async () => {
    const { code, stdout } = await rollcall(tenant.configPath, 'status', '--json');
    expect(code).toBe(1);
    const [north] = (
      JSON.parse(stdout) as {
        tenants: {
          state: string;
          isOwnerAlive: boolean;
          collections: { collection: string; rows: number }[];
        }[];
      }
    ).tenants;
    expect(north).toMatchObject({ state: 'in-trouble', isOwnerAlive: false });
    for (const { collection, rows } of north?.collections ?? []) {
      expect([collection, rows]).toEqual([collection, tenant.hub.district.ids(collection as 'users').length]);
    }
    expect(north?.collections).toHaveLength(COLLECTIONS.length);
  });

  it('shows the rows even while Redis is away, says so and not that all is well, and exits with 1', async () => {
    const { code, stdout } = await rollcall(tenant.configWith({ redisUrl: `redis://${NOBODY}` }), 'status');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ \S+  redis: /m);
    expect(stdout).toMatch(new RegExp(`^ *users +${tenant.hub.district.ids('users').length} `, 'm'));
    expect(stdout).toContain(`Redis at ${NOBODY} does not answer`);
  });

  it('sends the hub no request', async () => {
    tenant.hub.requests.clear();
    await rollcall(tenant.configPath, 'status');
    expect(tenant.hub.requests.all()).toEqual([]);
  });
});

describe('verbs that only read', () => {
  it('need no credential of the hub, and others name the variable that is missing', async () => {
    const text = readFileSync(tenant.configPath, 'utf8').replace(
      /clientSecret: .*/,
      'clientSecret: "${HUB_SECRET}"',
    );
    using config = configFile(text);
    const verbs = [
      ['status'],
      ['tail', 'orgs', 'users', '--to-end'],
      ['topics', 'list'],
      ['state', 'show', '--collection', 'users', 'orgs'],
      ['deletes', 'list'],
    ];
    const ended = await Promise.all(verbs.map((verb) => rollcall(config.path, ...verb)));
    // No process mirrors the tenant.
    expect(ended.map(({ code }) => code)).toEqual([1, 0, 0, 0, 0]);
    expect(await rollcall(config.path, 'pull')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('HUB_SECRET'),
    });
  });
});

describe('an unreachable Kafka', () => {
  it('is named with a remedy by every verb that needs it, without a stack trace', async () => {
    const config = tenant.configWith({ brokers: NOBODY });
    const verbs = [
      ['status'],
      ['tail', 'users'],
      ['state', 'show'],
      ['topics', 'list'],
      ['topics', 'apply'],
      ['plan'],
    ];
    const ended = await Promise.all(verbs.map((verb) => rollcall(config, ...verb)));
    for (const { code, stdout, stderr } of ended) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('kafka.brokers');
      expect(stderr).not.toMatch(/^\s+at /m);
    }
  });
});

describe('state show', () => {
  it('shows that index and log have come to the same transaction, and how many rows the index has', async () => {
    const args = ['state', 'show', '--collection', 'users', '--json'];
    const { code, stdout } = await rollcall(tenant.configPath, ...args);
    expect(code).toBe(0);
    const { collections } = JSON.parse(stdout) as { collections: { index: object; log: object }[] };
    const rows = tenant.hub.district.ids('users').length;
    expect(collections).toMatchObject([{ tenant: 'north', collection: 'users', rows, rejects: 0 }]);
    expect(collections[0]?.index).toMatchObject({ sequence: 1 });
    expect(collections[0]?.log).toEqual(collections[0]?.index);
  });

  it('is one table with a line for each tenant and collection', async () => {
    const { stdout } = await rollcall(tenant.configPath, 'state', 'show');
    const [titles, ...rows] = lines(stdout);
    expect(titles).toMatch(/^tenant +collection +index at +log at +rows +rejects$/);
    expect(rows).toHaveLength(COLLECTIONS.length);
    for (const row of rows) expect(row).toMatch(/^north +\S+ +(\d+ \S{8}) +\1 +\d+ +\d+$/);
  });

  it('exits with 1 and names a remedy while Redis is away', async () => {
    const config = tenant.configWith({ redisUrl: `redis://${NOBODY}` });
    const { code, stderr } = await rollcall(config, 'state', 'show');
    expect(code).toBe(1);
    expect(stderr).toContain('redis.url');
  });
});
