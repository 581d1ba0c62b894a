import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { ALWAYS_WITH_LESSONS, openScheduleMirror, type ScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { idOf } from '../support/rows.ts';
import { compactedView, type EndOffsets } from '../support/topic-reader.ts';
import { plant, rawRecord, rawRecords, type Planted } from './support/plant.ts';
import { rollcall, startOwner, type Ended, type Running } from './support/rollcall.ts';
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

let mirror: ScheduleMirror;
let config: string;
let users: string[];
/** As it was at first: no client can read a topic on in which a difference was planted. */
const views = new Map<string, Awaited<ReturnType<Mirror['view']>>>();
beforeAll(async () => {
  mirror = await openScheduleMirror({
    students: 'all',
    collections: only(Object.fromEntries(MIRRORED.map((name) => [name, {}]))),
    hubOptions: { students: 12, startMs: Date.now(), size: { absencesPerStudentYear: 6 } },
    parts: ({ runtime }) => ({ runtime: { ...runtime, now: () => Date.now() } }),
    ...ALWAYS_WITH_LESSONS,
    tenant: { deltaEvery: '1h' },
    settings: { http: { port: 0 } },
  });
  const { district } = mirror.hub;
  for (let at = 0; at < 6; at += 1) district.put('categories', { sourcedId: `more-${at}`, title: `${at}` });
  users = district.ids('users').map(String);
  await mirror.full();
  config = mirror.configText;
  for (const collection of WAYS) views.set(collection, await mirror.view(collection));
});
afterAll(() => mirror[Symbol.asyncDispose]());

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
    if (['users', 'absences'].includes(collection)) harms.push(['left-over', { ...record, key: 'nobody' }]);
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
  for (const area of ['users}:rows', 'absence-versions}:rows', 'absence-versions}:absences']) {
    const [name = ''] = await client.keys(`{${mirror.topicPrefix}:*:north:${area}`);
    const keys = (await client.hkeys(name)).slice(0, 5);
    for (const key of keys) await client.hset(name, key, Buffer.alloc(17, 1));
    corrupt.push(...keys);
  }
  client.disconnect();
  return corrupt;
}

const BY = [{ by: 'the command itself' }, { by: 'the process that runs' }];

/** Sets up that commands are carried out by themselves, or by a process that runs. */
function carriedOut(by: string) {
  const isAsked = by === 'the process that runs';
  let owner: Running | null = null;
  beforeAll(async () => {
    if (isAsked) owner = await startOwner(config);
  });
  afterAll(async () => {
    if (owner !== null) expect((await owner.stop()).code).toBe(0);
  });
  async function command(...args: string[]): Promise<Ended> {
    const ended = await rollcall(config, ...args, '--json');
    expect(ended.stderr.includes('asking the process that runs')).toBe(isAsked);
    return ended;
  }
  return { isAsked, command };
}

describe.each(BY)('done by $by', ({ by }) => {
  const { isAsked, command } = carriedOut(by);
  async function republish(...args: string[]): Promise<[code: number | null, tenant: unknown]> {
    const ended = await command('republish', ...args);
    return [ended.code, ended.json<{ tenants: unknown[] }>().tenants[0]];
  }

  it('state rebuild makes a corrupt index equal to the topics again, publishes nothing, and syncs go on from it', async () => {
    const ends = await mirror.ends();
    const corrupt = await spoilIndex();
    if (!isAsked) {
      const { found } = await verify(config);
      const wrong = found.filter((each) => each.startsWith('wrong'));
      expect(wrong.length).toBeGreaterThanOrEqual(10);
      expect(corrupt).toEqual(expect.arrayContaining(found.map((each) => each.split(' ').at(-1))));
    }
    const rebuilt = await command('state', 'rebuild');
    expect([rebuilt.code, rebuilt.json()]).toMatchObject([
      0,
      {
        collections: expect.arrayContaining([
          { tenant: 'north', collection: 'users', rows: users.length, rejects: 0 },
        ]) as unknown,
      },
    ]);
    expect(await verify(config)).toEqual({ code: 0, found: [] });
    expect((await command('pull', '--full')).code).toBe(0);
    expect(await mirror.since(ends)).toEqual([]);
    mirror.hub.district.patch('users', users[0] ?? '', { givenName: by });
    await command('pull');
    expect((await mirror.since(ends)).map(({ key }) => key)).toEqual([users[0]]);
  });

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
      expect(headers['content-hash']).toBe(earlier?.headers['content-hash']);
      expect(headers['ce_type']).toBe(`rollcall.${collection}.updated`);
      expect(headers['ce_id']).not.toBe(earlier?.headers['ce_id']);
      expect(value).toEqual(earlier?.value);
    }
  }

  it.each(WAYS)(
    'republish of %s publishes each key once more, or the named one, and nothing to any other topic',
    async (collection) => {
      const { size } = await mirror.view(collection);
      const keys = [...(await mirror.view(collection)).keys()];
      expect(size).toBeGreaterThan(5);
      const ends = await mirror.ends();
      expect(await republish(collection)).toMatchObject([0, { published: size, missing: [] }]);
      await expectAgain(collection, ends, keys);
      const [one = '', two = ''] = keys;
      const endsOfAll = await mirror.ends();
      const named = await republish(collection, '--key', one, two);
      expect(named).toMatchObject([0, { published: 2, missing: [] }]);
      await expectAgain(collection, endsOfAll, [one, two]);
    },
  );

  it('republish of absence-changes publishes the last event of each absence again: the same step, as a snapshot', async () => {
    const before = await mirror.view('absence-changes');
    const ends = await mirror.ends();
    const published = await republish('absence-changes');
    expect(published).toMatchObject([0, { published: before.size, missing: [] }]);
    const after = await mirror.since(ends);
    expect(after.map(({ topic, key }) => `${topic} ${key}`).toSorted()).toEqual(
      [...before.keys()].map((key) => `${mirror.topic('absence-changes')} ${key}`).toSorted(),
    );
    for (const { key, value } of after) expect(value).toEqual({ ...before.get(key)?.value, snapshot: true });
  });
});

describe('republish', () => {
  it('publishes nothing for a key that the hub does not have, and says so', async () => {
    const ends = await mirror.ends();
    const ended = await rollcall(config, 'republish', '--json', 'users', '--key', 'nobody');
    expect([ended.code, ended.json()]).toMatchObject([
      1,
      { tenants: [{ published: 0, missing: ['nobody'] }] },
    ]);
    expect(ended.stderr).toContain('not found: nobody');
    expect(await mirror.since(ends)).toEqual([]);
  });

  it('of a collection that lost most of its rows withholds their removal and exits with 3', async () => {
    const gone = mirror.hub.district.snapshot('categories').slice(1);
    for (const row of gone) mirror.hub.district.remove('categories', idOf(row));
    const ended = await rollcall(config, 'republish', '--json', 'categories');
    expect([ended.code, ended.json()]).toMatchObject([
      3,
      { tenants: [{ published: 1, withheld: gone.length }] },
    ]);
    expect(ended.stderr).toContain('rollcall deletes list');
    for (const row of gone) mirror.hub.district.put('categories', row);
    expect((await rollcall(config, 'pull', '--full')).code).toBe(0);
  });
});

describe.each(BY)('verify --repair by $by', ({ by }) => {
  const { isAsked, command } = carriedOut(by);

  it('publishes exactly one record for each key that differs, of which verify names the kind', async () => {
    const { kinds, keys } = await harm();
    expect(await verify(config)).toEqual({ code: 1, found: kinds });
    const ends = await mirror.ends();
    expect((await command('verify', '--repair')).code).toBe(0);
    // What the hub never had goes with a second full sync; a running process makes it by itself.
    if (!isAsked) await command('pull', '--full', '--collection', 'users');
    await vi.waitFor(async () => expect(await verify(config)).toEqual({ code: 0, found: [] }));
    const published: string[] = [];
    for (const name of MIRRORED)
      for (const { key } of await rawRecords(mirror.topic(name), ends)) published.push(`${name} ${key}`);
    expect(published.toSorted()).toEqual(keys);
    expect((await rollcall(config, 'verify')).stdout).toContain('9 of 9 collections are equal.');
  });
});

describe('verify --repair', () => {
  it('publishes nothing where nothing differs', async () => {
    const ends = await mirror.ends({ progress: true });
    const ended = await rollcall(config, 'verify', '--repair');
    expect([ended.code, ended.stdout]).toEqual([0, expect.not.stringContaining('A full sync has left')]);
    expect(await mirror.ends({ progress: true })).toEqual(ends);
  });

  it('withholds a mass deletion that a full sync would withhold', async () => {
    const record = await rawRecord(mirror.topic('users'), users[0] ?? '');
    const invented = Array.from({ length: users.length * 2 }, (_, at) => ({
      ...record,
      key: `nobody-${at}`,
    }));
    await plant(mirror.topic('users'), invented);
    expect(await verify(config, '--repair')).toEqual({
      code: 3,
      found: invented.map(({ key }) => `withheld users left-over ${key}`).toSorted(),
    });
  });
});

describe('beside an owner and a hub that changes', () => {
  /** Changes the hub all the time while the work is done, and expects that the owner then ends in peace. */
  async function whileTheHubChanges(
    options: MirrorOptions,
    work: (living: Mirror) => Promise<void>,
    afterwards: (living: Mirror) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    await using living = await openMirror({
      ...options,
      hubOptions: { students: 30, startMs: Date.now(), ...options.hubOptions },
      tenant: { deltaEvery: '1s' },
      settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } }, http: { port: 0 } },
    });
    await living.full();
    await using owner = await startOwner(living.configText);
    const changing = setInterval(() => living.hub.living.step(1), 10);
    await work(living).finally(() => clearInterval(changing));
    await afterwards(living);
    // It was asked, and not fenced.
    const { code, stdout } = await owner.stop();
    expect([code, stdout.includes('OWNERSHIP_LOST')]).toEqual([0, false]);
    const happened = Object.values(living.hub.living.happened()).reduce((sum, count) => sum + count, 0);
    expect(happened).toBeGreaterThan(50);
  }

  it.each([
    { how: 'by keyset', faults: [] },
    { how: 'by offset, without queries by id', faults: ['ignore-after', 'one-clause', 'refuse-lone-sort'] },
    { how: 'while requests fail', faults: ['error-rate=0.02', 'reset=0.01'] },
  ])('verify reports no false difference and still reports a true one ($how)', async ({ faults }) => {
    const collections = ['orgs', 'users', 'results', ...ABSENCES];
    await whileTheHubChanges({ collections, hubOptions: { faults } }, async (living) => {
      const [removed = ''] = living.hub.district.ids('orgs').map(String);
      await plant(living.topic('orgs'), [{ key: removed, value: null }]);
      const { found } = await verify(living.configText);
      const sure = found.filter((each) => /^(wrong|withheld)/.test(each));
      expect(sure).toEqual([`wrong orgs missing ${removed}`]);
    });
  });

  it('state rebuild loses no change and publishes none twice', async () => {
    const collections = ['users', 'students', 'classes', 'class-students', 'results', ...ABSENCES];
    await whileTheHubChanges(
      { collections },
      async ({ configText }) => {
        for (let round = 1; round <= 2; round += 1) {
          const pulled = rollcall(configText, 'pull', '--full');
          const rebuilt = await rollcall(configText, 'state', 'rebuild');
          expect([rebuilt.code, rebuilt.stderr]).toEqual([0, expect.stringContaining('asking the process')]);
          expect((await pulled).code).toBe(0);
        }
      },
      async (living) => {
        expect((await rollcall(living.configText, 'pull', '--full')).code).toBe(0);
        expect(await verify(living.configText)).toEqual({ code: 0, found: [] });
        for (const name of ['users', 'class-students', 'results', 'absence-versions', 'absences']) {
          const last = new Map<string, string | undefined>();
          for (const { key, headers, value } of await living.records(name)) {
            const hash = value === null ? 'gone' : headers['content-hash'];
            expect([name, key, hash]).not.toEqual([name, key, last.get(key) ?? 'gone']);
            last.set(key, hash);
          }
        }
      },
    );
  });
});
