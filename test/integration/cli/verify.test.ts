import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { openMirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { configFile } from './support/config-file.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { plant, rawRecord } from './support/plant.ts';
import { rollcall, startRollcall, type Ended } from './support/rollcall.ts';
import { differencesTold as told } from './support/told.ts';

const verify = (tenant: TestTenant, ...args: string[]): Promise<Ended> =>
  rollcall(tenant.configPath, 'verify', '--json', ...args);

describe('verify', () => {
  let tenant: TestTenant;
  let users: string[];
  const topicOf = (collection: string): string => `${tenant.topicPrefix}.north.${collection}`;
  beforeAll(async () => {
    tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    users = [...tenant.hub.district.ids('users')].map(String);
  });
  afterAll(() => tenant[Symbol.asyncDispose]());

  it('of equal topics finds nothing, and writes nothing', async () => {
    const { code, stdout, stderr } = await rollcall(tenant.configPath, 'verify');
    expect(stderr).not.toContain('✗');
    expect(stdout).toContain('All 3 collections are equal.');
    expect(code).toBe(0);
  });

  it('names what somebody removed, overwrote, added or spoilt, each by its key and kind', async () => {
    const [removed = '', overwritten = '', noAvro = '', bare = '', lying = '', other = ''] = users;
    const record = await rawRecord(topicOf('users'), other);
    const bareRecord = await rawRecord(topicOf('users'), bare);
    const { headers } = await rawRecord(topicOf('users'), lying);
    await plant(topicOf('users'), [
      { key: removed, value: null },
      { ...record, key: overwritten },
      { key: noAvro, value: Buffer.from('no Avro at all') },
      { key: bare, value: bareRecord.value },
      // With the hash of what should be there.
      { key: lying, value: record.value, headers },
      { ...record, key: 'nobody' },
    ]);
    const ended = await verify(tenant);
    const wrong = (kind: string, key: string) => ({ collection: 'users', key, kind, state: 'wrong' });
    expect(new Set(told(ended))).toEqual(
      new Set([
        wrong('missing', removed),
        wrong('different', overwritten),
        wrong('undecodable', noAvro),
        wrong('undecodable', bare),
        wrong('undecodable', lying),
        wrong('left-over', 'nobody'),
      ]),
    );
    expect(ended.code).toBe(1);
  });

  it('tells an index that says something else than the topic', async () => {
    const [spoilt = '', forgotten = ''] = tenant.hub.district.ids('courses').map(String);
    await using redis = connectRedis();
    const [rows = ''] = await redis.client.keys(`{${tenant.topicPrefix}:*:north:courses}:rows`);
    await redis.client.hset(rows, spoilt, Buffer.alloc(16, 7));
    const before = await redis.client.hgetBuffer(rows, forgotten);
    // As many keys as the position says, or it would be noticed at once.
    await redis.client.hdel(rows, forgotten);
    await redis.client.hset(rows, 'invented', before ?? '');
    const ended = await verify(tenant, '--collection', 'courses');
    expect(told(ended)).toEqual(
      expect.arrayContaining(
        [spoilt, forgotten, 'invented'].map((key) => ({
          collection: 'courses',
          key,
          kind: 'index',
          state: 'wrong',
        })),
      ),
    );
    expect(ended.code).toBe(1);
  });

  it('takes what the next pass brings for no difference', async () => {
    const { district } = tenant.hub;
    const [changed = '', gone = ''] = district.ids('orgs').map(String);
    district.patch('orgs', changed, { name: 'Another name' });
    district.put('orgs', { sourcedId: 'new-org', name: 'New' });
    district.remove('orgs', gone);
    const ended = await verify(tenant, '--collection', 'orgs');
    expect(
      told(ended)
        .map(({ key, kind, state }) => `${state} ${kind} ${key}`)
        .toSorted(),
    ).toEqual(
      [`pending different ${changed}`, `pending left-over ${gone}`, 'pending missing new-org'].toSorted(),
    );
    expect(ended.code).toBe(0);
    const { stdout } = await rollcall(tenant.configPath, 'verify', '--collection', 'orgs');
    expect(stdout).toContain('All 1 collections are equal, but for 3 changes at the hub');
  });
});

function connectRedis(): AsyncDisposable & { client: Redis } {
  const client = new Redis(inject('stack').redisUrl);
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.quit();
    },
  };
}

describe('verify of deletions that wait for a person', () => {
  it('ends with 3, not with 1', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    const gone = tenant.hub.district.ids('courses').slice(1).map(String);
    for (const id of gone) tenant.hub.district.remove('courses', id);
    await tenant.pass('FULL', ['courses']);
    await tenant.pass('FULL', ['courses']);
    const ended = await verify(tenant);
    expect(new Set(told(ended).map(({ kind, state }) => `${state} ${kind}`))).toEqual(
      new Set(['withheld left-over']),
    );
    expect(told(ended)).toHaveLength(gone.length);
    expect(ended.code).toBe(3);
  });
});

describe('verify of what the next full pass will withhold', () => {
  it('takes it for no change that goes by itself', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    const users = tenant.hub.district.ids('users').map(String);
    const gone = users.slice(0, Math.ceil(users.length / 2));
    for (const id of gone) tenant.hub.district.remove('users', id);
    for (const redisUrl of [undefined, null]) {
      const path = tenant.configWith(redisUrl === undefined ? {} : { redisUrl });
      const ended = await rollcall(path, 'verify', '--json');
      expect(told(ended)).toHaveLength(gone.length);
      expect(new Set(told(ended).map(({ kind, state }) => `${state} ${kind}`))).toEqual(
        new Set(['withheld left-over']),
      );
      expect(ended.code).toBe(3);
    }
    const { stdout, stderr } = await rollcall(tenant.configPath, 'verify');
    expect(stderr).toContain('users: the next full pass will withhold what left the hub: half or more');
    expect(stdout).toContain('2 of 3 collections are equal.');
    expect(stdout).toContain('or will after the next full pass: "rollcall deletes list"');
    // And so it does.
    await tenant.pass('FULL', ['users']);
    await tenant.pass('FULL', ['users']);
    const listed = await rollcall(tenant.configPath, 'deletes', 'list');
    expect([listed.stdout, listed.code]).toEqual([expect.stringContaining(String(gone.length)), 3]);
  });
});

describe('verify beside an owner and a hub that changes', () => {
  it.each([
    { how: 'by keyset', faults: [] },
    { how: 'by offset, asked by no id', faults: ['ignore-after', 'one-clause', 'refuse-lone-sort'] },
    { how: 'while requests fail', faults: ['error-rate=0.02', 'reset=0.01'] },
  ])('never cries wolf ($how)', async ({ faults }) => {
    const collections = ['orgs', 'users', 'results', 'absence-versions', 'absences', 'absence-changes'];
    await using mirror = await openMirror({
      collections,
      hubOptions: { students: 30, startMs: Date.now(), faults },
      tenant: { deltaEvery: '1s' },
      settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } }, http: { port: 0 } },
    });
    await mirror.full();
    using config = configFile(mirror.configText);
    const owner = startRollcall(config.path, ['run'], { longestMs: 180_000 });
    await owner.says('mirroring');
    const stop = new AbortController();
    const changing = (async () => {
      while (!stop.signal.aborted) {
        mirror.hub.living.step(1);
        await new Promise((resolve) => {
          setTimeout(resolve, 10);
        });
      }
    })();
    // Nor sleeps through what is there: one look tells this, and nothing else.
    const [removed = ''] = mirror.hub.district.ids('orgs').map(String);
    await plant(mirror.topic('orgs'), [{ key: removed, value: null }]);
    const bitten = await rollcall(config.path, 'verify', '--json');
    expect(told(bitten).filter(({ state }) => state !== 'pending')).toEqual([
      { collection: 'orgs', key: removed, kind: 'missing', state: 'wrong' },
    ]);
    stop.abort();
    await changing;
    owner.kill('SIGTERM');
    await owner.ended;
    const happened = Object.values(mirror.hub.living.happened()).reduce((sum, count) => sum + count, 0);
    expect(happened).toBeGreaterThan(50);
  });
});

describe('verify of absences', () => {
  it('finds each way in which tails and steps can be wrong', async () => {
    const collections = ['absence-versions', 'absences', 'absence-changes'];
    await using mirror = await openMirror({
      collections,
      hubOptions: { students: 20, size: { absencesPerStudentYear: 6 }, startMs: Date.now() },
    });
    await mirror.full();
    const view = await mirror.view('absences');
    const shown = [...view.keys()];
    const [untold = '', behind = '', noAvro = '', unsaid = '', twice = '', ...sound] = shown;
    const studentOf = (key: string): unknown => view.get(key)?.value?.['student'];
    const ofAnother = sound.find((key) => !isDeepStrictEqual(studentOf(key), studentOf(behind))) ?? '';
    // Of an event that was told of a change; one of the first load may be told again.
    mirror.hub.district.replaceAbsence(String(view.get(twice)?.value?.['sourcedId']), { changes: {} });
    await mirror.delta();
    using config = configFile(mirror.configText);
    const first = await rollcall(config.path, 'verify', '--json');
    expect([told(first), first.code]).toEqual([[], 0]);
    const absences = mirror.topic('absences');
    const changes = mirror.topic('absence-changes');
    const other = await rawRecord(absences, ofAnother);
    const event = await rawRecord(changes, twice);
    await plant(absences, [
      { key: untold, value: null },
      { ...other, key: behind },
      { key: noAvro, value: Buffer.from('no Avro') },
    ]);
    await plant(changes, [{ key: unsaid, value: null }, event]);
    const differences = told(await rollcall(config.path, 'verify', '--json'));
    const found = differences.map(
      ({ collection, key, kind, state }) => `${state} ${collection} ${kind} ${key}`,
    );
    expect(found.toSorted()).toEqual(
      [
        `wrong absences missing ${untold}`,
        `wrong absences different ${behind}`,
        `wrong absences two-students ${behind}`,
        `wrong absences undecodable ${noAvro}`,
        `wrong absence-changes missing ${unsaid}`,
        `wrong absence-changes gap ${twice}`,
      ].toSorted(),
    );
  });
});

describe('verify of schedules and nested collections', () => {
  it('asks for every wanted student, and misses no day', async () => {
    await using mirror = await openScheduleMirror({
      students: 'all',
      collections: only({ schedules: {}, students: {}, classes: {}, 'class-students': {} }),
      hubOptions: { students: 10, startMs: Date.now() },
      parts: () => ({ now: () => Date.now() }),
    });
    await mirror.full();
    using config = configFile(mirror.configText);
    const sound = await rollcall(config.path, 'verify', '--json');
    expect([told(sound), sound.code]).toEqual([[], 0]);
    const days = [...(await mirror.view('schedules')).keys()];
    const classes = [...(await mirror.view('class-students')).keys()];
    expect(days.length).toBeGreaterThan(10);
    const [removed = '', overwritten = ''] = days;
    const [emptied = ''] = classes;
    const record = await rawRecord(mirror.topic('schedules'), days[5] ?? '');
    await plant(mirror.topic('schedules'), [
      { key: removed, value: null },
      { ...record, key: overwritten },
    ]);
    await plant(mirror.topic('class-students'), [{ key: emptied, value: null }]);
    const found = told(await rollcall(config.path, 'verify', '--json'));
    expect(
      found.map(({ collection, key, kind, state }) => `${state} ${collection} ${kind} ${key}`).toSorted(),
    ).toEqual(
      [
        `wrong class-students missing ${emptied}`,
        `wrong schedules different ${overwritten}`,
        `wrong schedules missing ${removed}`,
      ].toSorted(),
    );
  });
});

describe('verify of what is not as usual', () => {
  it('takes a collection that was never read whole for no copy', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', ['orgs']);
    const ended = await rollcall(tenant.configPath, 'verify');
    expect(ended.stdout).toContain('1 of 3 collections are equal');
    expect(ended.stderr).toContain('users: it has never been read whole');
    expect(ended.code).toBe(1);
  });

  it('compares topics and hub without any Redis', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    const without = tenant.configWith({ redisUrl: null });
    expect((await rollcall(without, 'verify')).stdout).toContain('All 3 collections are equal.');
    const [removed = ''] = tenant.hub.district.ids('users').map(String);
    await plant(`${tenant.topicPrefix}.north.users`, [{ key: removed, value: null }]);
    const away = tenant.configWith({ redisUrl: 'redis://127.0.0.1:1' });
    const ended = await rollcall(away, 'verify', '--json');
    expect(told(ended)).toEqual([{ collection: 'users', key: removed, kind: 'missing', state: 'wrong' }]);
    expect(ended.stderr).toContain('The index was not compared');
    expect(ended.code).toBe(1);
  });

  it('passes no empty list for a hub without rows', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    for (const id of tenant.hub.district.ids('orgs')) tenant.hub.district.remove('orgs', id);
    const ended = await rollcall(tenant.configPath, 'verify', '--collection', 'orgs');
    expect(ended.stderr).toContain('orgs: the hub gives an empty list');
    expect(ended.code).toBe(1);
  });

  it('passes no walk that is cut short for all that the hub has', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    const users = [...tenant.hub.district.ids('users')].map(String).toSorted();
    // Of the only page this is the row that is left out.
    const unseen = users[Math.floor(users.length / 2)] ?? '';
    await plant(`${tenant.topicPrefix}.north.users`, [{ key: unseen, value: null }]);
    tenant.hub.faults.set('skip-rows@users');
    // The index would tell.
    const without = tenant.configWith({ redisUrl: null });
    const cut = await rollcall(without, 'verify', '--collection', 'users');
    expect(cut.stdout).toContain('0 of 1 collections are equal.');
    expect(cut.stderr).toContain('users: what the hub has was not seen whole');
    expect(cut.code).toBe(1);
    // Nor gives up where another walk helps.
    tenant.hub.faults.clear();
    tenant.hub.faults.set('skip-rows@users', { times: 1 });
    const found = told(await rollcall(without, 'verify', '--json', '--collection', 'users'));
    expect(found).toEqual([{ collection: 'users', key: unseen, kind: 'missing', state: 'wrong' }]);
  });

  it('asks for no total where the hub gives none', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    for (const fault of ['no-total', 'zero-total']) {
      tenant.hub.faults.clear();
      tenant.hub.faults.set(fault);
      const ended = await rollcall(tenant.configPath, 'verify');
      expect([fault, ended.stderr, ended.code]).toEqual([fault, expect.not.stringContaining('✗'), 0]);
      expect(ended.stdout).toContain('All 3 collections are equal.');
    }
  });

  it("waits for no pass to bring another tenant's rows", async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    const { district } = tenant.hub;
    const own = district.ids('courses').map(String);
    for (const id of own) {
      district.remove('courses', id);
      district.put('courses', { sourcedId: `other-${id}`, title: 'Other' });
    }
    const ended = await verify(tenant);
    expect(told(ended)).toHaveLength(own.length * 2);
    expect(new Set(told(ended).map(({ state }) => state))).toEqual(new Set(['wrong']));
    expect(ended.stderr).not.toContain('next full pass');
    expect(ended.code).toBe(1);
    const { stdout, stderr } = await rollcall(tenant.configPath, 'verify');
    expect(stdout).toContain('2 of 3 collections are equal.');
    expect(stderr).toContain('courses: the hub gives quite other rows than were published');
    expect(stderr).toContain('--accept-new');
  });

  it('tells a hub that fails from one that has nothing', async () => {
    await using tenant = await startTestTenant();
    await tenant.pass('FULL', COLLECTIONS);
    tenant.hub.faults.set('error-rate=1');
    const ended = await rollcall(tenant.configPath, 'verify', '--collection', 'orgs');
    expect(ended.stdout).toContain('0 of 1 collections are equal');
    expect(ended.stderr).toContain('✗ orgs');
    expect(ended.code).toBe(1);
  });

  it('compares rows that cannot be read, too', async () => {
    await using mirror = await openMirror({
      collections: ['absence-versions', 'absences', 'absence-changes'],
      hubOptions: { students: 20, size: { absencesPerStudentYear: 6 }, startMs: Date.now() },
    });
    const versions = mirror.hub.district.ids('absence-versions').map(String);
    const [one = '', two = ''] = versions;
    await mirror.full();
    mirror.hub.district.patch('absence-versions', one, { fromTime: 'sometime' });
    mirror.hub.district.patch('absence-versions', two, { toTime: 'later' });
    await mirror.full();
    using config = configFile(mirror.configText);
    const sound = await rollcall(config.path, 'verify', '--json');
    expect([told(sound), sound.code]).toEqual([[], 0]);
    await plant(mirror.topic('rejects'), [
      { key: `absence-versions|${one}`, value: null },
      { ...(await rawRecord(mirror.topic('rejects'), `absence-versions|${two}`)), key: 'absence-versions|x' },
    ]);
    const found = told(await rollcall(config.path, 'verify', '--json'));
    expect(found.map(({ kind, key, state }) => `${state} ${kind} ${key}`).toSorted()).toEqual([
      `wrong reject-left-over x`,
      `wrong reject-missing ${one}`,
    ]);
    const repaired = await rollcall(config.path, 'verify', '--repair', '--json');
    expect([told(repaired), repaired.code]).toEqual([[], 0]);
  });
});
