import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ALWAYS_WITH_LESSONS, openScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { openMirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { endOffsets } from '../support/topic-reader.ts';
import { configFile } from './support/config-file.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { plant, rawRecord, rawRecords } from './support/plant.ts';
import { rollcall, startRollcall, type Ended } from './support/rollcall.ts';
import { reportedDifferences as reported } from './support/reported-differences.ts';

const verify = (tenant: TestTenant, ...args: string[]): Promise<Ended> =>
  rollcall(tenant.configPath, 'verify', '--json', ...args);

describe('verify', () => {
  let tenant: TestTenant;
  let users: string[];
  const topicOf = (collection: string): string => `${tenant.topicPrefix}.north.${collection}`;
  beforeAll(async () => {
    tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    users = [...tenant.hub.district.ids('users')].map(String);
  });
  afterAll(() => tenant[Symbol.asyncDispose]());

  it('says that topics which equal the hub are equal, exits with 0, and writes nothing', async () => {
    const topics = [...COLLECTIONS, 'rejects', 'progress'].map(topicOf);
    const ends = await endOffsets(topics);
    const { code, stdout, stderr } = await rollcall(tenant.configPath, 'verify');
    expect(stderr).not.toContain('✗');
    expect(stdout).toContain('3 of 3 collections are equal.');
    expect(code).toBe(0);
    expect(await endOffsets(topics)).toEqual(ends);
  });

  it('reports each removed, overwritten, corrupt and added record by its key and kind', async () => {
    const [removed = '', overwritten = '', noAvro = '', bare = '', lying = '', other = ''] = users;
    const record = await rawRecord(topicOf('users'), other);
    const bareRecord = await rawRecord(topicOf('users'), bare);
    const { headers } = await rawRecord(topicOf('users'), lying);
    await plant(topicOf('users'), [
      { key: removed, value: null },
      { ...record, key: overwritten },
      { key: noAvro, value: Buffer.from('no Avro at all') },
      { key: bare, value: bareRecord.value },
      // Its hash is that of the expected value.
      { key: lying, value: record.value, headers },
      { ...record, key: 'nobody' },
    ]);
    const ended = await verify(tenant);
    const wrong = (kind: string, key: string) => ({ collection: 'users', key, kind, state: 'wrong' });
    expect(new Set(reported(ended))).toEqual(
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

  it('reports keys of an index that differs from the topic', async () => {
    const [corrupt = '', forgotten = ''] = tenant.hub.district.ids('courses').map(String);
    await using redis = connectRedis();
    const [rows = ''] = await redis.client.keys(`{${tenant.topicPrefix}:*:north:courses}:rows`);
    await redis.client.hset(rows, corrupt, Buffer.alloc(16, 7));
    const before = await redis.client.hgetBuffer(rows, forgotten);
    // The number of keys stays as the position says, or the loss would be noticed at once.
    await redis.client.hdel(rows, forgotten);
    await redis.client.hset(rows, 'invented', before ?? '');
    const ended = await verify(tenant, '--collection', 'courses');
    const wrong = (key: string, kind: string) => ({ collection: 'courses', key, kind, state: 'wrong' });
    expect(new Set(reported(ended))).toEqual(
      new Set([wrong(corrupt, 'different'), wrong(forgotten, 'left-over'), wrong('invented', 'missing')]),
    );
    expect(ended.code).toBe(1);
  });

  it('has the owner publish what changed at the hub, names rows missing for the first time, and exits with 0', async () => {
    const { district } = tenant.hub;
    const [changed = '', gone = ''] = district.ids('orgs').map(String);
    district.patch('orgs', changed, { name: 'Another name' });
    district.put('orgs', { sourcedId: 'new-org', name: 'New' });
    district.remove('orgs', gone);
    const ends = await endOffsets([topicOf('orgs')]);
    const ended = await verify(tenant, '--collection', 'orgs');
    expect(reported(ended)).toEqual([
      { collection: 'orgs', key: gone, kind: 'left-over', state: 'pending', isFirstMiss: true },
    ]);
    expect(ended.code).toBe(0);
    const published = await rawRecords(topicOf('orgs'), ends);
    expect(published.map(({ key }) => key).toSorted()).toEqual([changed, 'new-org'].toSorted());
    const { stdout } = await rollcall(tenant.configPath, 'verify', '--collection', 'orgs');
    expect(stdout).toContain('missing for the first time');
  });

  it('names what only a full sync brings as pending, and exits with 0', async () => {
    const { district } = tenant.hub;
    // It is older than what an incremental sync reads again.
    const [, changed = ''] = district.ids('orgs').map(String);
    district.patch('orgs', changed, { name: 'Without a new timestamp' }, { stamp: false });
    const ended = await verify(tenant, '--collection', 'orgs');
    expect(reported(ended)).toContainEqual({
      collection: 'orgs',
      key: changed,
      kind: 'different',
      state: 'pending',
    });
    expect(ended.code).toBe(0);
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
  it('reports them as withheld and exits with 3', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const gone = tenant.hub.district.ids('courses').slice(1).map(String);
    for (const id of gone) tenant.hub.district.remove('courses', id);
    await tenant.sync('FULL', ['courses']);
    await tenant.sync('FULL', ['courses']);
    const ended = await verify(tenant);
    expect(new Set(reported(ended).map(({ kind, state }) => `${state} ${kind}`))).toEqual(
      new Set(['withheld left-over']),
    );
    expect(reported(ended)).toHaveLength(gone.length);
    expect(ended.code).toBe(3);
  });
});

describe('verify of what the next full sync will withhold', () => {
  it('reports it as withheld, with and without Redis, and exits with 3', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const users = tenant.hub.district.ids('users').map(String);
    const gone = users.slice(0, Math.ceil(users.length / 2));
    for (const id of gone) tenant.hub.district.remove('users', id);
    for (const redisUrl of [undefined, null]) {
      const path = tenant.configWith(redisUrl === undefined ? {} : { redisUrl });
      const ended = await rollcall(path, 'verify', '--json');
      expect(reported(ended)).toHaveLength(gone.length);
      expect(new Set(reported(ended).map(({ kind, state }) => `${state} ${kind}`))).toEqual(
        new Set(['withheld left-over']),
      );
      expect(ended.code).toBe(3);
    }
    const { stdout, stderr } = await rollcall(tenant.configPath, 'verify');
    expect(stderr).toContain('users: the next full sync will withhold the removals: half or more');
    expect(stdout).toContain('2 of 3 collections are equal.');
    expect(stdout).toContain('"rollcall deletes list", after the next full sync');
    // The next full sync does withhold them.
    await tenant.sync('FULL', ['users']);
    await tenant.sync('FULL', ['users']);
    const listed = await rollcall(tenant.configPath, 'deletes', 'list');
    expect([listed.stdout, listed.code]).toEqual([expect.stringContaining(String(gone.length)), 3]);
  });
});

describe('verify beside an owner and a hub that changes', () => {
  it.each([
    { how: 'by keyset', faults: [] },
    { how: 'by offset, without queries by id', faults: ['ignore-after', 'one-clause', 'refuse-lone-sort'] },
    { how: 'while requests fail', faults: ['error-rate=0.02', 'reset=0.01'] },
  ])('reports no false difference and still reports a true one ($how)', async ({ faults }) => {
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
    // A true difference shows, and nothing else does.
    const [removed = ''] = mirror.hub.district.ids('orgs').map(String);
    await plant(mirror.topic('orgs'), [{ key: removed, value: null }]);
    const bitten = await rollcall(config.path, 'verify', '--json');
    expect(reported(bitten).filter(({ state }) => state !== 'pending')).toEqual([
      { collection: 'orgs', key: removed, kind: 'missing', state: 'wrong' },
    ]);
    stop.abort();
    await changing;
    owner.kill('SIGTERM');
    // It was asked, and not fenced.
    expect((await owner.ended).code).toBe(0);
    const happened = Object.values(mirror.hub.living.happened()).reduce((sum, count) => sum + count, 0);
    expect(happened).toBeGreaterThan(50);
  });
});

describe('verify of absences', () => {
  it('reports each way in which tails and steps can be wrong', async () => {
    const collections = ['absence-versions', 'absences', 'absence-changes'];
    await using mirror = await openMirror({
      collections,
      hubOptions: { students: 20, size: { absencesPerStudentYear: 6 }, startMs: Date.now() },
    });
    await mirror.full();
    const view = await mirror.view('absences');
    const shown = [...view.keys()];
    const [unpublished = '', behind = '', noAvro = '', unsaid = '', twice = '', ...sound] = shown;
    const studentOf = (key: string): unknown => view.get(key)?.value?.['student'];
    const ofAnother = sound.find((key) => !isDeepStrictEqual(studentOf(key), studentOf(behind))) ?? '';
    // The event of a change is meant here; one of the first load may be published again.
    mirror.hub.district.replaceAbsence(String(view.get(twice)?.value?.['sourcedId']), { changes: {} });
    await mirror.delta();
    using config = configFile(mirror.configText);
    const first = await rollcall(config.path, 'verify', '--json');
    expect([reported(first), first.code]).toEqual([[], 0]);
    const absences = mirror.topic('absences');
    const changes = mirror.topic('absence-changes');
    const other = await rawRecord(absences, ofAnother);
    const event = await rawRecord(changes, twice);
    await plant(absences, [
      { key: unpublished, value: null },
      { ...other, key: behind },
      { key: noAvro, value: Buffer.from('no Avro') },
    ]);
    await plant(changes, [{ key: unsaid, value: null }, event]);
    const differences = reported(await rollcall(config.path, 'verify', '--json'));
    const found = differences.map(
      ({ collection, key, kind, state }) => `${state} ${collection} ${kind} ${key}`,
    );
    expect(found.toSorted()).toEqual(
      [
        `wrong absences missing ${unpublished}`,
        `wrong absences different ${behind}`,
        `wrong absences two-students ${behind}`,
        `wrong absences undecodable ${noAvro}`,
        `wrong absence-changes missing ${unsaid}`,
        `wrong absence-changes gap ${twice}`,
      ].toSorted(),
    );
  });
});

describe('verify of contradictory absences', () => {
  it('finds nothing wrong with a fork, a corrected pupil, and a record that was given to another student', async () => {
    await using mirror = await openMirror({
      collections: ['absence-versions', 'absences', 'absence-changes'],
      hubOptions: { students: 20, size: { absencesPerStudentYear: 6 }, startMs: Date.now() },
    });
    await mirror.full();
    const { district } = mirror.hub;
    const [one = '', other = ''] = district.ids('students').map(String);
    const register = (student: string): string =>
      district.registerAbsence({ student, fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T09:00:00Z' });
    const [root, rival, wrongPupil, right, given] = [one, one, one, other, one].map(register);
    district.replaceAbsence(String(root));
    const refer = (sourcedId: unknown) => ({ sourcedId: String(sourcedId), type: 'absence' });
    district.patch('absence-versions', String(rival), { replaces: refer(root) });
    district.patch('absence-versions', String(right), { replaces: refer(wrongPupil) });
    await mirror.delta();
    district.patch('absence-versions', String(given), { student: { sourcedId: other, type: 'user' } });
    await mirror.delta();
    expect((await mirror.view('rejects')).has(`absence-versions|${given}`)).toBe(true);
    using config = configFile(mirror.configText);
    const verified = await rollcall(config.path, 'verify', '--json');
    expect([reported(verified), verified.code]).toEqual([[], 0]);
  });
});

describe('verify of schedules and nested collections', () => {
  it('reports each day and class that differs', async () => {
    await using mirror = await openScheduleMirror({
      students: 'all',
      collections: only({ schedules: {}, students: {}, classes: {}, 'class-students': {} }),
      hubOptions: { students: 10, startMs: Date.now() },
      parts: ({ runtime }) => ({ runtime: { ...runtime, now: () => Date.now() } }),
      ...ALWAYS_WITH_LESSONS,
    });
    await mirror.full();
    using config = configFile(mirror.configText);
    const sound = await rollcall(config.path, 'verify', '--json');
    expect([reported(sound), sound.code]).toEqual([[], 0]);
    const days = [...(await mirror.view('schedules')).keys()];
    const classes = [...(await mirror.view('class-students')).keys()];
    expect(days.length).toBeGreaterThan(10);
    const [removed = '', overwritten = ''] = days;
    const [becameEmpty = ''] = classes;
    const record = await rawRecord(mirror.topic('schedules'), days[5] ?? '');
    await plant(mirror.topic('schedules'), [
      { key: removed, value: null },
      { ...record, key: overwritten },
    ]);
    await plant(mirror.topic('class-students'), [{ key: becameEmpty, value: null }]);
    const found = reported(await rollcall(config.path, 'verify', '--json'));
    expect(
      found.map(({ collection, key, kind, state }) => `${state} ${collection} ${kind} ${key}`).toSorted(),
    ).toEqual(
      [
        `wrong class-students missing ${becameEmpty}`,
        `wrong schedules different ${overwritten}`,
        `wrong schedules missing ${removed}`,
      ].toSorted(),
    );
  });
});

describe('verify in unusual cases', () => {
  it('does not call a collection equal that was never read in full', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', ['orgs']);
    const ended = await rollcall(tenant.configPath, 'verify');
    expect(ended.stdout).toContain('1 of 3 collections are equal');
    expect(ended.stderr).toContain('courses, users: it has had no complete full sync');
    expect(ended.code).toBe(1);
  });

  it('compares topics and hub without Redis, and fails where Redis does not answer', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const without = tenant.configWith({ redisUrl: null });
    expect((await rollcall(without, 'verify')).stdout).toContain('3 of 3 collections are equal.');
    const [removed = ''] = tenant.hub.district.ids('users').map(String);
    await plant(`${tenant.topicPrefix}.north.users`, [{ key: removed, value: null }]);
    const ended = await rollcall(without, 'verify', '--json');
    expect(reported(ended)).toEqual([{ collection: 'users', key: removed, kind: 'missing', state: 'wrong' }]);
    expect(ended.code).toBe(1);
    const away = await rollcall(tenant.configWith({ redisUrl: 'redis://127.0.0.1:1' }), 'verify');
    expect([away.code, away.stderr]).toEqual([1, expect.stringContaining('redis')]);
  });

  it('shows that an empty list would be held: all rows are missing', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    for (const id of tenant.hub.district.ids('orgs')) tenant.hub.district.remove('orgs', id);
    const ended = await rollcall(tenant.configPath, 'verify', '--collection', 'orgs');
    expect(ended.stderr).toContain("all of the collection's rows (3) are missing");
    expect(ended.code).toBe(3);
  });

  it('refuses an incomplete scan as the state of the hub', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const users = [...tenant.hub.district.ids('users')].map(String).toSorted();
    // This is the row that the fault leaves out of the only page.
    const unseen = users[Math.floor(users.length / 2)] ?? '';
    await plant(`${tenant.topicPrefix}.north.users`, [{ key: unseen, value: null }]);
    tenant.hub.faults.set('skip-rows@users');
    // The index would show it.
    const without = tenant.configWith({ redisUrl: null });
    const cut = await rollcall(without, 'verify', '--collection', 'users');
    expect(cut.stdout).toContain('0 of 1 collection are equal.');
    expect(cut.stderr).toMatch(/users: \d+ of \d+ rows came/);
    expect(cut.code).toBe(1);
  });

  it('compares a hub that gives no total', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    for (const fault of ['no-total', 'zero-total']) {
      tenant.hub.faults.clear();
      tenant.hub.faults.set(fault);
      const ended = await rollcall(tenant.configPath, 'verify');
      expect([fault, ended.stderr, ended.code]).toEqual([fault, expect.not.stringContaining('✗'), 0]);
      expect(ended.stdout).toContain('3 of 3 collections are equal.');
    }
  });

  it("does not compare a collection with another tenant's rows", async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const { district } = tenant.hub;
    const own = district.ids('courses').map(String);
    for (const id of own) {
      district.remove('courses', id);
      district.put('courses', { sourcedId: `other-${id}`, title: 'Other' });
    }
    const { code, stdout, stderr } = await rollcall(tenant.configPath, 'verify');
    expect(stdout).toContain('2 of 3 collections are equal.');
    expect(stderr).toContain('✗ courses: ');
    expect(stderr).toContain('--accept-new');
    expect(code).toBe(1);
  });

  it('exits with 1 where the hub fails', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    tenant.hub.faults.set('error-rate=1');
    const ended = await rollcall(tenant.configPath, 'verify', '--collection', 'orgs');
    expect(ended.stdout).toContain('0 of 1 collection are equal');
    expect(ended.stderr).toContain('✗ orgs');
    expect(ended.code).toBe(1);
  });

  it('compares rejects, and repairs them', async () => {
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
    expect([reported(sound), sound.code]).toEqual([[], 0]);
    await plant(mirror.topic('rejects'), [
      { key: `absence-versions|${one}`, value: null },
      { ...(await rawRecord(mirror.topic('rejects'), `absence-versions|${two}`)), key: 'absence-versions|x' },
    ]);
    const found = reported(await rollcall(config.path, 'verify', '--json'));
    expect(found.map(({ kind, key, state }) => `${state} ${kind} ${key}`).toSorted()).toEqual([
      `wrong reject-left-over x`,
      `wrong reject-missing ${one}`,
    ]);
    const repaired = await rollcall(config.path, 'verify', '--repair', '--json');
    expect([reported(repaired), repaired.code]).toEqual([[], 0]);
  });
});
