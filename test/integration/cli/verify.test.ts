import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { halfADayAfter, openMirror, registerAbsence } from '../support/mirror.ts';
import { endOffsets } from '../support/stack-kafka.ts';
import { plant, rawRecord } from './support/plant.ts';
import { rollcall, startOwner } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant } from './support/test-tenant.ts';
import { verify } from './support/verify.ts';

type Name = (typeof COLLECTIONS)[number];

describe('verify', async () => {
  /* One tenant for all; each test leaves it as it was, but the last. */
  const tenant = await startTestTenant();
  afterAll(() => tenant[Symbol.asyncDispose]());
  const inMemory = tenant.configWith({ inMemory: true });
  await tenant.full('orgs');

  const ids = (collection: Name): string[] => tenant.hub.district.ids(collection).map(String).toSorted();
  const remove = (collection: Name, gone: readonly string[]): void =>
    gone.forEach((id) => tenant.hub.district.remove(collection, id));
  /** Lets the hub have other rows of a collection, and gives what takes that back. */
  function replace(collection: Name, others: readonly { sourcedId: string; title: string }[]): () => void {
    const { district } = tenant.hub;
    const rows = district.snapshot(collection);
    remove(collection, ids(collection));
    for (const row of others) district.put(collection, row);
    return () => {
      remove(collection, ids(collection));
      for (const row of rows) district.put(collection, row);
    };
  }

  it('verify writes nothing, and calls a collection equal only if it read all and nothing differs', async () => {
    const first = await rollcall(tenant.config, 'verify');
    expect([first.code, first.stdout]).toEqual([1, expect.stringContaining('1 of 3 collections are equal')]);
    expect(first.stderr).toMatch(/^! courses, users: it cannot be compared yet[^]*Wait for its first load/m);
    await tenant.full('courses', 'users');
    const topics = [...COLLECTIONS, 'rejects', 'progress'].map(tenant.topic);
    const ends = await endOffsets(topics);
    const { code, stdout, stderr } = await rollcall(tenant.config, 'verify');
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('✗')]);
    expect(stdout).toContain('3 of 3 collections are equal.');
    expect(await verify(tenant.config, '--repair')).toEqual({ code: 0, found: [] });
    expect(await endOffsets(topics)).toEqual(ends);
    expect(await verify(inMemory)).toEqual({ code: 0, found: [] });
  });

  const skipped = () => ids('users')[Math.floor(ids('users').length / 2)] ?? '';
  it.each<
    [
      what: string,
      code: number,
      equal: string,
      why: RegExp,
      arrange: () => Promise<void> | (() => void) | void,
    ]
  >([
    ['if the hub fails', 1, '0 of 3', /✗ orgs/, () => tenant.hub.faults.set('error-rate=1')],
    [
      "if the hub has another tenant's rows",
      1,
      '0 of 3',
      /✗ courses: [^]*--accept-new/,
      () => {
        const undo = COLLECTIONS.map((name) =>
          replace(
            name,
            ids(name).map((id) => ({ sourcedId: `other-${id}`, title: 'Other' })),
          ),
        );
        return () => undo.forEach((each) => each());
      },
    ],
    [
      'if its scan is incomplete',
      1,
      '2 of 3',
      /! users: \d+ of \d+ rows were returned.*\n→ .* run the command again/,
      () => {
        tenant.hub.faults.set('skip-rows@users');
        // This is the row that the fault leaves out of the only page.
        return plant(tenant.topic('users'), [{ key: skipped(), value: null }]);
      },
    ],
    [
      'if the missing rows may be nameless rows',
      1,
      '2 of 3',
      /! users: removals wait, because rows without a readable sourcedId may be/,
      () => tenant.hub.faults.set('malformed-rows=0.1@users'),
    ],
  ])('verify does not call a collection equal %s', async (_, code, equal, why, arrange) => {
    const undo = await arrange();
    // An index in Redis would show the row that does not come.
    const ended = await rollcall(inMemory, 'verify');
    undo?.();
    tenant.hub.faults.clear();
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([
      code,
      expect.stringContaining(`${equal} collections are equal.`),
      expect.stringMatching(why),
    ]);
  });

  it('verify finds and repairs keys that differ from the index, or without an index from the hub', async () => {
    const lost = `wrong users missing ${skipped()}`;
    expect(await verify(inMemory)).toEqual({ code: 1, found: [lost] });
    const [corrupt = '', forgotten = ''] = ids('courses');
    const redis = new Redis(inject('stack').redisUrl);
    const [rows = ''] = await redis.keys(`{${tenant.topicPrefix}:*:north}:courses:rows`);
    await redis.hset(rows, corrupt, Buffer.alloc(16, 7));
    const before = await redis.hgetBuffer(rows, forgotten);
    // The number of keys stays as the position says, or the loss would be noticed at once.
    await redis.hdel(rows, forgotten);
    await redis.hset(rows, 'invented', before ?? '');
    redis.disconnect();
    const found = [
      `wrong courses different ${corrupt}`,
      `wrong courses left-over ${forgotten}`,
      'wrong courses missing invented',
      lost,
    ].toSorted();
    expect(await verify(tenant.config)).toEqual({ code: 1, found });
    const repaired = await rollcall(tenant.config, 'verify', '--repair');
    const published = /^The repair has published 1 record:$[^]*^users +full complete +\d+ +1 +0 +0 /m;
    expect([repaired.code, repaired.stdout]).toEqual([0, expect.stringMatching(published)]);
    const said = /^north: to repair: .*1 different in courses.*1 missing in users$/m;
    expect(repaired.stderr).toMatch(said);
    expect(await verify(tenant.config)).toEqual({ code: 0, found: [] });
  });

  it('verify publishes no change of the hub, but says which sync will publish each change', async () => {
    const { district } = tenant.hub;
    const [changed = '', gone = '', unstamped = ''] = ids('orgs');
    const row = district.get('orgs', gone) ?? {};
    district.patch('orgs', changed, { name: 'Another name' });
    district.put('orgs', { sourcedId: 'new-org', name: 'New' });
    // It is older than what an incremental sync reads again.
    district.patch('orgs', unstamped, { name: 'Without a new timestamp' }, { stamp: false });
    remove('orgs', [gone]);
    const topics = [...COLLECTIONS, 'rejects', 'progress'].map(tenant.topic);
    const ends = await endOffsets(topics);
    const brought = [`next-sync orgs different ${changed}`, 'next-sync orgs missing new-org'];
    const left = [`first-miss orgs left-over ${gone}`, `next-full orgs different ${unstamped}`];
    const found = [...brought, ...left].toSorted();
    expect(await verify(tenant.config, '--collection', 'orgs')).toEqual({ code: 0, found });
    expect(await verify(inMemory, '--collection', 'orgs')).toEqual({
      code: 1,
      found: [...brought, left[0] ?? '', `wrong orgs different ${unstamped}`].toSorted(),
    });
    const { stdout } = await rollcall(tenant.config, 'verify', '--collection', 'orgs');
    expect(stdout).toMatch(/^ {2}orgs +pending .* 4$/m);
    const settled =
      'the next sync settles 2 keys; the next full sync settles 1 key; a later full sync settles 1 key.';
    expect(stdout).toContain(`0 of 1 collection is equal.\nNot equal yet, which is no fault: ${settled}\n`);
    expect(stdout).toMatch(/^ {2}orgs +left-over +missing for the first time +1$/m);
    expect(stdout).not.toContain(gone);
    const withIds = await rollcall(tenant.config, 'verify', '--collection', 'orgs', '--ids');
    expect(withIds.stdout).toContain(gone);
    expect(await endOffsets(topics)).toEqual(ends);

    // The first syncs of an owner publish all; then it rests for longer than the test.
    district.put('orgs', row);
    const resting = tenant.configWith({
      tenant: { incrementalEvery: '1h', fullSync: { at: halfADayAfter(Date.now()) } },
    });
    await using owner = await startOwner(resting);
    await rollcall(resting, 'pull', '--full');
    expect(await verify(resting)).toEqual({ code: 0, found: [] });
    district.patch('orgs', changed, { name: 'Yet another name' });
    const before = await endOffsets(topics);
    expect(await verify(resting)).toEqual({ code: 0, found: [brought[0]] });
    expect(await endOffsets(topics)).toEqual(before);
    await owner.stop();
  });

  it('verify reports the rows that the next full sync will put on hold, and exits with 3', async () => {
    const gone = ids('users').slice(0, Math.ceil(ids('users').length / 2));
    remove('users', gone);
    const rowsOnHold = { code: 3, found: gone.map((key) => `on-hold users left-over ${key}`) };
    expect(await verify(tenant.config, '--collection', 'users')).toEqual(rowsOnHold);
    expect(await verify(inMemory, '--collection', 'users')).toEqual(rowsOnHold);
    const { stdout, stderr } = await rollcall(tenant.config, 'verify', '--collection', 'users', 'courses');
    expect(stderr).toContain('users: the next full sync will put rows on hold: half or more');
    expect(stdout).toContain('1 of 2 collections are equal.');
    expect(stdout).toContain(`On hold: a person must decide about ${gone.length} keys.\n`);
    expect(stdout).toContain('rollcall deletes list --tenant north\n');
    await tenant.full('users');
    expect(await verify(tenant.config, '--collection', 'users')).toEqual(rowsOnHold);
    const listed = await rollcall(tenant.config, 'deletes', 'list');
    expect([listed.code, listed.stdout]).toEqual([3, expect.stringContaining(String(gone.length))]);
  });
});

it('verify reports each kind of error in absences and rejects, but no contradictory absence', async () => {
  await using mirror = await openMirror({
    collections: ['absence-versions', 'absences', 'absence-changes'],
    hubOptions: { students: 20, size: { absencesPerStudentYear: 6 }, startMs: Date.now() },
  });
  const { district } = mirror.hub;
  await mirror.full();
  const view = await mirror.view('absences');
  const [unpublished = '', unsaid = '', twice = '', one = '', two = ''] = view.keys();
  const versionOf = (key: string): string => String(view.get(key)?.value?.['sourcedId']);
  // The event of a change is meant here; one of the first load may be published again.
  district.replaceAbsence(versionOf(twice), { changes: {} });
  // A fork, a corrected pupil, and a record that is given to another student.
  const [pupil = '', other = ''] = district.ids('students').map(String);
  const [root = '', rival = '', wrongPupil = '', right = '', given = ''] = [
    pupil,
    pupil,
    pupil,
    other,
    pupil,
  ].map((student) => registerAbsence(mirror.hub, student));
  district.replaceAbsence(root);
  const replaces = (sourcedId: string) => ({ replaces: { sourcedId, type: 'absence' } });
  district.patch('absence-versions', rival, replaces(root));
  district.patch('absence-versions', right, replaces(wrongPupil));
  await mirror.incremental();
  district.patch('absence-versions', given, { student: { sourcedId: other, type: 'user' } });
  for (const key of [one, two]) district.patch('absence-versions', versionOf(key), { fromTime: 'sometime' });
  await mirror.incremental();
  const rejects = mirror.topic('rejects');
  const rejected = [given, versionOf(one), versionOf(two)].map((id) => `absence-versions|${id}`);
  expect([...(await mirror.view('rejects')).keys()].toSorted()).toEqual(rejected.toSorted());
  await mirror.incremental();
  const config = mirror.configText;
  expect(await verify(config)).toEqual({ code: 0, found: [] });
  const changes = mirror.topic('absence-changes');
  await plant(mirror.topic('absences'), [{ key: unpublished, value: null }]);
  await plant(changes, [{ key: unsaid, value: null }, await rawRecord(changes, twice)]);
  await plant(rejects, [
    { key: rejected[1] ?? '', value: null },
    { ...(await rawRecord(rejects, rejected[2] ?? '')), key: 'absence-versions|x' },
  ]);
  const stays = [`wrong absence-changes gap ${twice}`, `wrong absence-changes missing ${unsaid}`];
  const goes = [
    `wrong absences missing ${unpublished}`,
    `wrong absence-versions reject-missing ${versionOf(one)}`,
    'wrong absence-versions reject-left-over x',
  ];
  expect((await verify(config)).found).toEqual([...stays, ...goes].toSorted());
  // No step of an absence is published again.
  expect(await verify(config, '--repair')).toEqual({ code: 1, found: stays.toSorted() });
});
