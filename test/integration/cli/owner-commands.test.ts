import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { ALWAYS_WITH_LESSONS, openScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';
import { compactedView, type EndOffsets } from '../support/stack-kafka.ts';
import { plant, rawRecord, rawRecords, type Planted } from './support/plant.ts';
import type { Ended, Running } from '../support/running.ts';
import { rollcall, startOwner } from './support/rollcall.ts';
import { verify } from './support/verify.ts';

const ABSENCES = ['absence-versions', 'absences', 'absence-changes'] as const;
const MIRRORED = [
  'users',
  'categories',
  'students',
  'classes',
  'class-students',
  'schedules',
  ...ABSENCES,
] as const;
/** One of each way in which a collection is mirrored. */
const WAYS = ['users', 'class-students', 'absences', 'schedules'];

const mirror = await openScheduleMirror({
  students: 'all',
  collections: MIRRORED,
  hubOptions: { students: 7, startMs: Date.now(), size: { absencesPerStudentYear: 9 } },
  parts: ({ runtime }) => ({ runtime: { ...runtime, now: () => Date.now() } }),
  ...ALWAYS_WITH_LESSONS,
  tenant: { incrementalEvery: '1h' },
});
afterAll(() => mirror[Symbol.asyncDispose]());
for (let at = 0; at < 6; at += 1)
  mirror.hub.district.put('categories', { sourcedId: `more-${at}`, title: `${at}` });
const users = mirror.hub.district.ids('users').map(String);
const config = mirror.configText;
await mirror.full();
/** As it was at first: no client can read a topic on in which a difference was planted. */
const views = new Map<string, Awaited<ReturnType<Mirror['view']>>>();
for (const collection of WAYS) views.set(collection, await mirror.view(collection));

/** Plants a difference of each kind that can be repaired. Returns what `verify` is to find, and the keys. */
async function harm(): Promise<{ kinds: string[]; keys: string[] }> {
  const kinds: string[] = [];
  const keys: string[] = [];
  for (const collection of WAYS) {
    const topic = mirror.topic(collection);
    const view = views.get(collection) ?? new Map<string, never>();
    const [removed = '', overwritten = '', noAvro = '', bare = '', lying = ''] = view.keys();
    const ownerOf = (key: string): unknown => view.get(key)?.value?.['student'] ?? key;
    const other = [...view.keys()].findLast((key) => !isDeepStrictEqual(ownerOf(key), ownerOf(overwritten)));
    const record = await rawRecord(topic, other ?? '');
    const harms: [kind: string, Planted][] = [
      ['missing', { key: removed, value: null }],
      ['different', { ...record, key: overwritten }],
      ['undecodable', { key: noAvro, value: Buffer.from('no Avro at all') }],
      ['undecodable', { key: bare, value: (await rawRecord(topic, bare)).value }],
      // Its hash is that of the expected value.
      ['undecodable', { ...(await rawRecord(topic, lying)), value: record.value }],
    ];
    if (collection === 'users') harms.push(['left-over', { ...record, key: 'nobody' }]);
    await plant(
      topic,
      harms.map(([, planted]) => planted),
    );
    kinds.push(...harms.map(([kind, { key }]) => `wrong ${collection} ${kind} ${key}`));
    if (collection === 'absences') kinds.push(`wrong absences two-students ${overwritten}`);
    keys.push(...harms.map(([, { key }]) => `${collection} ${key}`));
  }
  return { kinds: kinds.toSorted(), keys: keys.toSorted() };
}

/** Overwrites entries of the index of users and of chains; it keeps as many keys as before. */
async function spoilIndex(): Promise<string[]> {
  const client = new Redis(inject('stack').redisUrl);
  const corrupt: string[] = [];
  for (const area of ['users:rows', 'absence-versions:rows', 'absence-versions:absences']) {
    const [name = ''] = await client.keys(`{${mirror.topicPrefix}:*:north}:${area}`);
    const keys = (await client.hkeys(name)).slice(0, 5);
    for (const key of keys) await client.hset(name, key, Buffer.alloc(17, 1));
    corrupt.push(...keys);
  }
  client.disconnect();
  return corrupt;
}

/** Runs a command with `--json`, by itself or by the process that runs. */
async function command(isAsked: boolean, ...args: string[]): Promise<Ended> {
  const ended = await rollcall(config, ...args, '--json');
  expect(ended.stderr.includes('asking the process that mirrors')).toBe(isAsked);
  return ended;
}
async function republish(
  isAsked: boolean,
  ...args: string[]
): Promise<[code: Ended['code'], tenant: unknown]> {
  const ended = await command(isAsked, 'republish', ...args);
  return [ended.code, ended.json<{ tenants: unknown[] }>().tenants[0]];
}

/** Expects that since `ends` exactly these keys were published, each once and with the content that it had. */
async function expectAgain(collection: string, ends: EndOffsets, keys: Iterable<string>): Promise<void> {
  const after = await mirror.since(ends);
  const before = compactedView(
    (await mirror.records(collection)).filter(
      ({ topic, partition, offset }) => offset < (ends[`${topic}/${partition}`] ?? 0),
    ),
  );
  expect(after.map(({ topic, key }) => `${topic} ${key}`).toSorted()).toEqual(
    [...keys].map((key) => `${mirror.topic(collection)} ${key}`).toSorted(),
  );
  for (const { key, value, headers } of after) {
    const earlier = before.get(key);
    expect(headers['ce_id']).not.toBe(earlier?.headers['ce_id']);
    if (collection === 'absence-changes') {
      expect(value).toEqual({ ...earlier?.value, snapshot: true });
      continue;
    }
    expect(headers['content-hash']).toBe(earlier?.headers['content-hash']);
    expect(headers['ce_type']).toBe(`rollcall.${collection}.updated`);
    expect(value).toEqual(earlier?.value);
  }
}

describe('without an owner', () => {
  it('"state rebuild" makes a corrupt index equal to the topics, and publishes nothing', async () => {
    const ends = await mirror.ends();
    const corrupt = await spoilIndex();
    const { found } = await verify(config);
    expect(found.filter((each) => each.startsWith('wrong')).length).toBeGreaterThanOrEqual(10);
    expect(corrupt).toEqual(expect.arrayContaining(found.map((each) => each.split(' ').at(-1))));
    const rebuilt = await command(false, 'state', 'rebuild');
    const collections = expect.arrayContaining([
      { tenant: 'north', collection: 'users', rows: users.length, rejects: 0 },
    ]) as unknown;
    expect([rebuilt.code, rebuilt.json()]).toMatchObject([0, { collections }]);
    expect(await verify(config)).toEqual({ code: 0, found: [] });
    expect((await command(false, 'pull', '--full')).code).toBe(0);
    expect(await mirror.since(ends)).toEqual([]);
    mirror.hub.district.patch('users', users[0] ?? '', { givenName: 'Other' });
    await command(false, 'pull');
    expect((await mirror.since(ends)).map(({ key }) => key)).toEqual([users[0]]);
  });

  it('"republish --key" publishes named keys again, and names keys that the hub lacks', async () => {
    const ends = await mirror.ends();
    const named = [users[0] ?? '', users[2] ?? ''];
    const published = await republish(false, 'users', '--key', ...named, 'nobody');
    expect(published).toMatchObject([1, { published: 2, missing: ['nobody'] }]);
    await expectAgain('users', ends, named);
    mirror.republished.add('users');
    expect(await mirror.differences('users')).toEqual({});
  });

  it('"republish" puts missing rows on hold if most rows are gone, and exits with 3', async () => {
    const gone = mirror.hub.district.snapshot('categories').slice(1);
    for (const row of gone) mirror.hub.district.remove('categories', idOf(row));
    const ended = await command(false, 'republish', 'categories');
    const tenants = [{ published: 1, rowsOnHold: gone.length }];
    expect([ended.code, ended.json()]).toMatchObject([3, { tenants }]);
    expect(ended.stderr).toContain('rollcall deletes list --tenant north');
    for (const row of gone) mirror.hub.district.put('categories', row);
    expect((await command(false, 'pull', '--full')).code).toBe(0);
  });
});

describe('with an owner', () => {
  let owner: Running;
  beforeAll(async () => {
    owner = await startOwner(config);
  });
  afterAll(async () => expect((await owner.stop()).code).toBe(0));

  it.each([...WAYS, 'absence-changes'])(
    '"republish %s" publishes each key of the collection once more, and nothing else',
    async (collection) => {
      const keys = [...(await mirror.view(collection)).keys()];
      expect(keys.length).toBeGreaterThan(5);
      const ends = await mirror.ends();
      expect(await republish(true, collection)).toMatchObject([0, { published: keys.length, missing: [] }]);
      await expectAgain(collection, ends, keys);
    },
  );

  it('"state rebuild" repairs the index, "verify --repair" fixes each key with one record', async () => {
    await spoilIndex();
    expect((await command(true, 'state', 'rebuild')).code).toBe(0);
    const { kinds, keys } = await harm();
    expect(await verify(config)).toEqual({ code: 1, found: kinds });
    const ends = await mirror.ends();
    const repaired = await command(true, 'verify', '--repair');
    const says = /"repaired":.*"collection":"users".*"created":1,"updated":4.*"derived":{"absences":5,/;
    expect([repaired.code, repaired.stdout]).toEqual([0, expect.stringMatching(says)]);
    // What the hub never had goes with a second full sync, which the process makes by itself.
    await vi.waitFor(async () => expect(await verify(config)).toEqual({ code: 0, found: [] }), {
      interval: 2_000,
    });
    const published: string[] = [];
    for (const name of MIRRORED)
      for (const { key } of await rawRecords(mirror.topic(name), ends)) published.push(`${name} ${key}`);
    expect(published.toSorted()).toEqual(keys);
    expect((await rollcall(config, 'verify')).stdout).toContain('9 of 9 collections are equal.');
  });
});

it('"verify --repair" puts the rows of a mass deletion on hold, as a full sync does', async () => {
  const record = await rawRecord(mirror.topic('users'), users[0] ?? '');
  const invented = Array.from({ length: users.length * 2 }, (_, at) => ({ ...record, key: `nobody-${at}` }));
  await plant(mirror.topic('users'), invented);
  expect(await verify(config, '--repair')).toEqual({
    code: 3,
    found: invented.map(({ key }) => `on-hold users left-over ${key}`).toSorted(),
  });
});

it('while an owner mirrors a changing hub, verify finds only true differences and rebuild loses nothing', async () => {
  await using living = await openMirror({
    collections: ['orgs', 'users', 'students', 'classes', 'class-students', 'results', ...ABSENCES],
    hubOptions: { students: 12, startMs: Date.now() },
    tenant: { incrementalEvery: '1s' },
    settings: { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
  });
  const { configText: text, hub } = living;
  const sureIn = async () => (await verify(text)).found.filter((each) => /^(wrong|on-hold)/.test(each));
  await living.full();
  await using owner = await startOwner(text);
  const changing = setInterval(() => hub.living.step(1), 50);
  try {
    const [removed = ''] = hub.district.ids('orgs').map(String);
    const pulled = rollcall(text, 'pull', '--full');
    const rebuilt = await rollcall(text, 'state', 'rebuild');
    expect([rebuilt.code, rebuilt.stderr]).toEqual([0, expect.stringContaining('asking the process')]);
    expect((await pulled).code).toBe(0);
    await plant(living.topic('orgs'), [{ key: removed, value: null }]);
    expect(await sureIn()).toEqual([`wrong orgs missing ${removed}`]);
    for (const fault of ['error-rate=0.02', 'reset=0.01']) hub.faults.set(fault);
    expect(await sureIn()).toEqual([`wrong orgs missing ${removed}`]);
  } finally {
    clearInterval(changing);
    hub.faults.clear();
  }
  for (const words of ['verify --repair', 'pull --full'])
    expect([words, (await rollcall(text, ...words.split(' '))).code]).toEqual([words, 0]);
  expect(await verify(text)).toEqual({ code: 0, found: [] });
  // The repair repeats what the planted removal took.
  living.republished.add('orgs');
  expect(await living.differences()).toEqual({});
  // It was asked, and not fenced.
  const { code, stdout } = await owner.stop();
  expect([code, stdout.includes('OWNERSHIP_LOST')]).toEqual([0, false]);
  expect(Object.values(hub.living.happened()).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(50);
});
