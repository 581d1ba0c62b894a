import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, it, vi } from 'vitest';
import { COLLECTIONS as ALL_COLLECTIONS } from '../../../src/model/collections.ts';
import { endOffsets, readTopics, withAdmin } from '../support/stack-kafka.ts';
import { configTextOf, type MirrorOptions } from '../support/mirror.ts';
import { publishedLines } from '../support/planned.ts';
import { otherSchema, tellRegistry } from './support/plant.ts';
import { rollcall, startOwner, startRollcall } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant } from './support/test-tenant.ts';

const NOBODY = '127.0.0.1:1';
const { registryUrl, redisUrl } = inject('stack');

/* One tenant for all: not mirrored yet, then filled, then with changes at the hub. */
const tenant = await startTestTenant();
afterAll(() => tenant[Symbol.asyncDispose]());

const say = (words: string, options: MirrorOptions = {}) =>
  rollcall(tenant.configWith(options), ...words.split(' '));
const idsOf = (name: (typeof COLLECTIONS)[number]): string[] =>
  tenant.hub.district.ids(name).map(String).toSorted();
const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** All that an installation has in Kafka, registry and Redis, as far as a reader could have changed it. */
async function holdings(): Promise<object> {
  const { topicPrefix } = tenant;
  const isOwn = (name: string): boolean => name.startsWith(`${topicPrefix}.`);
  const topics = (await withAdmin((admin) => admin.listTopics())).filter(isOwn).toSorted();
  const subjects = (await (await fetch(`${registryUrl}/subjects`)).json()) as string[];
  const redis = new Redis(redisUrl);
  const values: Record<string, string> = {};
  for (const key of (await redis.keys(`*${topicPrefix}*`)).toSorted()) {
    // Only heartbeats expire.
    if ((await redis.pttl(key)) >= 0) continue;
    const value = (await redis.dumpBuffer(key)) ?? '';
    values[key] = createHash('sha256').update(value).digest('hex');
  }
  redis.disconnect();
  return { ends: await endOffsets(topics), subjects: subjects.filter(isOwn).toSorted(), values };
}

interface Planned {
  readonly collection: string;
  readonly rowsOnHold: number;
  readonly whyOnHold: string | null;
  readonly keys?: Readonly<Record<string, readonly string[]>>;
}

async function plan() {
  const ended = await say('plan --keys --json');
  const planned = ended.json<{ tenants: [{ collections: Planned[] }] }>().tenants[0].collections;
  const planLines = planned.flatMap(({ collection, keys = {} }) =>
    Object.entries(keys).flatMap(([kind, some]) => some.map((key) => `${collection} ${kind} ${key}`)),
  );
  return { code: ended.code, planned, lines: planLines.toSorted() };
}

it('before the first run, "check" and "plan" create nothing, and "plan" lists what "pull" publishes', async () => {
  const check = await say('check');
  expect([check.code, check.stdout]).toEqual([0, expect.stringMatching(/✓ \d+ checks, nothing failed\n$/)]);
  expect(check.stdout).toContain('0 as in the contract, 5 to be created when Rollcall starts');
  const planned = await plan();
  expect(await holdings()).toEqual({ ends: {}, subjects: [], values: {} });
  const { groups } = await withAdmin((admin) => admin.listGroups());
  expect(groups.filter(({ groupId }) => groupId.startsWith(tenant.topicPrefix))).toEqual([]);
  expect((await say('pull --full')).code).toBe(0);
  expect([planned.code, planned.lines]).toEqual([
    0,
    publishedLines(await readTopics([...COLLECTIONS, 'rejects'].map(tenant.topic))),
  ]);
  expect(planned.lines.length).toBeGreaterThan(100);
});

interface Tailed {
  readonly key: string;
  readonly headers: Record<string, string>;
  readonly value?: { readonly sourcedId: string } | null;
}

describe('without an owner', () => {
  const records = (text: string): Tailed[] => lines(text).map((line) => JSON.parse(line) as Tailed);
  const users = () => idsOf('users').length;

  it('commands that only read topics and index need no hub secret, and change nothing', async () => {
    const before = await holdings();
    tenant.hub.requests.clear();
    const read = (words: string) => say(words, { hubSettings: { clientSecret: '${HUB_SECRET}' } });
    const none = /no row is on hold/;
    for (const [words, code, says] of [
      ['status', 1, /no process mirrors the tenant/],
      ['topics list', 0, /users +3 +equal/],
      ['deletes list', 0, none],
    ] as const)
      expect([words, await read(words)]).toEqual([
        words,
        expect.objectContaining({ code, stdout: expect.stringMatching(says) as string }),
      ]);
    const status = (await read('status --json')).json<{
      tenants: [{ collections: { collection: string; rowsThen: number }[] }];
    }>();
    expect(status.tenants[0]).toMatchObject({ state: 'in-trouble', isOwnerAlive: false });
    const counted = status.tenants[0].collections.map(({ collection, rowsThen }) => [collection, rowsThen]);
    expect(counted).toEqual(COLLECTIONS.map((name) => [name, idsOf(name).length]));
    const tail = await read('tail users --to-end --values');
    expect([tail.code, tail.stderr]).toEqual([0, `${users()} records\n`]);
    const found = records(tail.stdout);
    expect(found.map(({ key }) => key).toSorted()).toEqual(idsOf('users'));
    for (const { key, value } of found) expect(value?.sourcedId).toBe(key);
    expect(tenant.hub.requests.all()).toEqual([]);
    const pull = await read('pull');
    expect([pull.code, pull.stderr]).toEqual([2, expect.stringContaining('HUB_SECRET')]);
    expect((await say('plan')).stdout).toContain('would publish nothing.');
    expect(await holdings()).toEqual(before);
  });

  it('"rollcall tail" prints records published after its start, without their content', async () => {
    const ids = idsOf('orgs').slice(0, 2);
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
    expect(found.toSorted()).toEqual(ids.map((id) => `${id} rollcall.orgs.updated undefined`));
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('Oppdiktet')]);
  });

  const withoutRedis = { settings: { redis: { url: `redis://${NOBODY}` } } };
  const noKafka = { settings: { kafka: { brokers: [NOBODY] } } };
  const registryAt = (url: string) => ({ settings: { registry: { url } } });
  it.concurrent.each<[words: string, code: number, remedy: string, options: MirrorOptions]>([
    ['tail', 2, 'absence-changes', {}],
    ['tail classes', 1, 'rollcall topics apply', {}],
    ['tail users --to-end --values', 1, 'registry.url', registryAt(`http://${NOBODY}`)],
    ['pull', 1, 'it may not be a schema registry', registryAt(`${registryUrl}/elsewhere`)],
    ['verify', 1, 'redis.url', withoutRedis],
    ['status', 1, 'kafka.brokers', noKafka],
    ['tail users', 1, 'kafka.brokers', noKafka],
    ['topics apply', 1, 'kafka.brokers', noKafka],
    ['plan', 1, '✗ orgs, courses, users: ', { hubSettings: { clientSecret: 'wrong' } }],
    ['deletes list', 2, 'add redis.url', { inMemory: true }],
    ['deletes approve 0123456789ab', 2, 'add redis.url', { inMemory: true }],
  ])(
    '"rollcall %s" exits with %i if it cannot do its work, and names a remedy',
    async (words, code, remedy, options) => {
      const ended = await say(words, options);
      expect(ended).toMatchObject({ code, stderr: expect.stringContaining(remedy) });
      expect(ended.stderr).not.toMatch(/^\s+at /m);
    },
  );

  it.each(['plan', 'verify'])(
    '"rollcall %s" of several tenants says which tenant is being read',
    async (verb) => {
      const { hub, topicPrefix } = tenant;
      const several = configTextOf(hub, topicPrefix, { collections: ['orgs'] }, ['north', 'south']);
      const { stderr } = await rollcall(several, verb);
      expect(stderr).toMatch(/^north: 1 of 2 tenants$[^]*^south: 2 of 2 tenants$/m);
    },
  );

  it('while Redis is away, status counts the rows and says that Redis does not answer', async () => {
    const { code, stdout } = await say('status', withoutRedis);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^✗ north {2}complete and fresh, up to \d+ (s|min) ago: redis: /m),
    ]);
    expect(stdout).toMatch(new RegExp(`^ *users +- .* ago +${users()} `, 'm'));
    expect(stdout).toContain(`Redis at ${NOBODY} does not answer`);
  });
});

describe('before any run', async () => {
  const other = await startTestTenant();
  afterAll(() => other[Symbol.asyncDispose]());

  it.each<[string, () => MirrorOptions, Readonly<Record<string, string>>]>([
    [
      'each part that is away',
      () => ({
        hubSettings: { baseUrl: `http://${NOBODY}/north`, tokenUrl: `http://${NOBODY}/token` },
        settings: {
          kafka: { brokers: [NOBODY] },
          registry: { url: `http://${NOBODY}` },
          redis: { url: `redis://${NOBODY}` },
        },
      }),
      {
        Kafka: 'kafka.brokers',
        'Schema registry': 'registry.url',
        Redis: 'redis.url',
        'Hub of north': 'hub.tokenUrl',
      },
    ],
    [
      'wrong credentials, a wrong registry address and too few brokers',
      () => ({
        hubSettings: { clientSecret: 'S3CRET-and-wrong' },
        settings: { registry: { url: other.hub.controlUrl }, kafka: { replicationFactor: 7 } },
      }),
      {
        Kafka: 'kafka.replicationFactor',
        'Schema registry': 'registry.url',
        'Hub of north': 'hub.clientSecret',
      },
    ],
  ])('"rollcall check" reports %s, with the setting to look at', async (_, options, failures) => {
    const ended = await rollcall(other.configWith(options()), 'check', '--json');
    expect([ended.code, ended.stderr]).toEqual([1, '']);
    expect(ended.stdout).not.toContain('S3CRET');
    const { findings } = ended.json<{ findings: { section: string; level: string; remedy?: string }[] }>();
    const failed = findings.filter(({ level }) => level === 'failure');
    expect(failed.map(({ section, remedy }) => [section.split('  ')[0], remedy])).toEqual(
      Object.entries(failures).map(([section, remedy]) => [section, expect.stringContaining(remedy)]),
    );
  });

  it('"check" reports another program’s schema or compatibility, and "run" keeps both', async () => {
    const [wrong, weakened] = [`${other.topic('users')}-value`, `${other.topic('orgs')}-value`];
    for (const [subject, compatibility] of [
      [wrong, 'FULL_TRANSITIVE'],
      [weakened, 'NONE'],
    ]) {
      await tellRegistry(`${registryUrl}/subjects/${subject}/versions`, 'POST', otherSchema());
      await tellRegistry(`${registryUrl}/config/${subject}`, 'PUT', { compatibility });
    }
    const { code, stdout } = await rollcall(other.config, 'check');
    expect(code).toBe(1);
    expect(stdout).toContain(`The schema of ${wrong} does not fit the versions already registered`);
    expect(stdout).toContain(`${weakened} has compatibility NONE`);
    expect(stdout).toContain(`PUT ${registryUrl}/config/${weakened}`);
    const start = await rollcall(other.config, 'run');
    expect([start.code, start.stderr]).toEqual([1, expect.stringContaining(`has compatibility NONE`)]);
    for (const subject of [wrong, weakened]) {
      const versions = await fetch(`${registryUrl}/subjects/${subject}/versions`);
      expect(await versions.json()).toEqual([1]);
    }
    const level = await fetch(`${registryUrl}/config/${weakened}`);
    expect(await level.json()).toMatchObject({ compatibilityLevel: 'NONE' });
    const topics = await withAdmin((admin) => admin.listTopics());
    expect(topics.filter((name) => name.startsWith(other.topicPrefix))).toEqual([]);
  });
});

it('"status --wrong" also lists a healthy tenant whose configuration drops a field that no row has', async () => {
  await using mistyped = await startTestTenant();
  const dropping = (field: string) => {
    const others = ALL_COLLECTIONS.map((name) => [name, { enabled: false }] as const);
    const collections = { ...Object.fromEntries(others), users: { drop: [field] } };
    return mistyped.configWith({ tenant: { collections } });
  };
  const wrong = async (config: string) => (await rollcall(config, 'status', '--wrong')).stdout;
  for (const [field, shown] of [
    ['emial', /all well[^]*! users: drop: no row has the field emial; did you mean email\?\n/],
    ['email', /^✓ nothing is wrong\n$/],
  ] as const) {
    const config = dropping(field);
    await using owner = await startOwner(config);
    await vi.waitFor(async () => expect(await wrong(config)).toMatch(shown));
    await owner.stop();
  }
});

it('"rollcall plan" shows what a full sync would publish, and changes nothing, even beside an owner', async () => {
  const { district } = tenant.hub;
  await using owner = await startOwner(tenant.configWith({ tenant: { incrementalEvery: '1h' } }));
  // After this, no sync of the owner's own is due for an hour.
  expect((await say('pull')).code).toBe(0);
  const gone = String(idsOf('users')[0]);
  district.put('orgs', { sourcedId: 'new-org', name: 'New' });
  district.remove('users', gone);
  const before = await holdings();
  const beside = await plan();
  const ended = await owner.stop();
  expect([ended.code, ended.stdout.includes('OWNERSHIP_LOST')]).toEqual([0, false]);
  expect(await plan()).toEqual(beside);
  expect(beside.planned).toContainEqual(
    expect.objectContaining({ collection: 'users', missing: 1, deleted: 0, keys: { missing: [gone] } }),
  );
  const shown = await say('plan');
  expect([shown.code, shown.stderr]).toEqual([0, expect.not.stringContaining('new-org')]);
  expect(shown.stdout).toMatch(/orgs +1 created +\d+ +0 +0\n/);
  expect(shown.stdout).toMatch(/missing for the first time[^]*users +nothing +\d+ +1 /);
  expect(shown.stdout).toContain('rollcall pull --full --tenant north\n');
  expect(shown.stdout).not.toContain('new-org');
  expect((await say('plan --collection orgs --keys')).stdout).toMatch(/orgs +created +new-org/);
  expect(await holdings()).toEqual(before);
  expect((await say('pull --full')).code).toBe(0);
});

it('"rollcall plan" shows the rows that "pull" would put on hold and why, and both exit with 3', async () => {
  const gone = idsOf('courses').slice(1);
  for (const id of gone) tenant.hub.district.remove('courses', id);
  const { code, planned } = await plan();
  const courses = planned.find(({ collection }) => collection === 'courses');
  expect([code, courses]).toMatchObject([3, { rowsOnHold: gone.length, deleted: 0 }]);
  expect(courses?.whyOnHold).toMatch(/\d+ of \d+/);
  expect(courses?.keys?.['on-hold']?.toSorted()).toEqual(gone);
  const shown = await say('plan');
  expect(shown.code).toBe(3);
  expect(shown.stderr).toContain(`courses: ${gone.length} rows would be put on hold: `);
  expect(shown.stdout).toContain('rollcall deletes list --tenant north\n');
  const pull = await say('pull --full --json');
  const [pulled] = pull.json<{ tenants: [{ collections: Planned[] }] }>().tenants;
  const rowsOnHold = (some: readonly Planned[]) => some.map((each) => [each.collection, each.rowsOnHold]);
  expect([pull.code, rowsOnHold(pulled.collections)]).toEqual([3, rowsOnHold(planned)]);
});
