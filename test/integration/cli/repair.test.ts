import { describe, expect, it, vi } from 'vitest';
import { ALWAYS_WITH_LESSONS, openScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { configFile } from './support/config-file.ts';
import { plant, rawRecord, rawRecords } from './support/plant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';
import { reportedDifferences } from './support/reported-differences.ts';

const COLLECTIONS = ['users', 'absence-versions', 'absences', 'absence-changes'];

function mirrored(): Promise<Mirror> {
  return openMirror({
    collections: COLLECTIONS,
    hubOptions: { students: 30, startMs: Date.now(), size: { absencesPerStudentYear: 6 } },
    tenant: { deltaEvery: '1h' },
    settings: { http: { port: 0 } },
  });
}

interface Harm {
  /** Keys that differ now, with their collection. */
  readonly keys: readonly string[];
}

/** Plants one difference of each kind that can be repaired, in users and absences. */
async function harm(mirror: Mirror): Promise<Harm> {
  const users = mirror.hub.district.ids('users').map(String);
  const [removed = '', overwritten = '', noAvro = '', bare = '', lying = '', other = ''] = users;
  const topic = mirror.topic('users');
  const record = await rawRecord(topic, other);
  const bareRecord = await rawRecord(topic, bare);
  const { headers } = await rawRecord(topic, lying);
  const shown = [...(await mirror.view('absences')).keys()];
  const [hidden = '', wrong = '', corrupt = '', lyingToo = ''] = shown;
  const absence = await rawRecord(mirror.topic('absences'), shown[10] ?? '');
  const absenceHeaders = (await rawRecord(mirror.topic('absences'), lyingToo)).headers;
  await plant(topic, [
    { key: removed, value: null },
    { ...record, key: overwritten },
    { key: noAvro, value: Buffer.from('no Avro at all') },
    { key: bare, value: bareRecord.value },
    { key: lying, value: record.value, headers },
    { ...record, key: 'nobody' },
  ]);
  await plant(mirror.topic('absences'), [
    { key: hidden, value: null },
    { ...absence, key: wrong },
    { key: corrupt, value: Buffer.from('no Avro either') },
    { key: lyingToo, value: absence.value, headers: absenceHeaders },
    { ...absence, key: 'of-nobody' },
  ]);
  return {
    keys: [
      ...[removed, overwritten, noAvro, bare, lying, 'nobody'].map((key) => `users ${key}`),
      ...[hidden, wrong, corrupt, lyingToo, 'of-nobody'].map((key) => `absences ${key}`),
    ],
  };
}

describe('verify --repair', () => {
  it.each([{ by: 'this command' }, { by: 'the process that runs' }])(
    'publishes exactly one record for each key that differs ($by)',
    async ({ by }) => {
      await using mirror = await mirrored();
      await mirror.full();
      using config = configFile(mirror.configText);
      const owner =
        by === 'this command' ? null : startRollcall(config.path, ['run'], { longestMs: 180_000 });
      await owner?.says('mirroring');
      const { keys } = await harm(mirror);
      const found = reportedDifferences(await rollcall(config.path, 'verify', '--json'));
      expect(new Set(found.map(({ collection, key }) => `${collection} ${key}`))).toEqual(new Set(keys));
      const ends = await mirror.ends();
      const repaired = await rollcall(config.path, 'verify', '--repair', '--json');
      expect(repaired.code).toBe(0);
      // What the hub never had goes with a second full sync; a running process makes it by itself.
      if (owner === null)
        expect((await rollcall(config.path, 'pull', '--full', '--collection', 'users')).code).toBe(0);
      await vi.waitFor(
        async () => expect(reportedDifferences(await rollcall(config.path, 'verify', '--json'))).toEqual([]),
        { timeout: 30_000, interval: 1_000 },
      );
      if (owner !== null) expect(repaired.stderr).toContain('asking the process that runs');
      const published: string[] = [];
      for (const name of COLLECTIONS) {
        for (const { key } of await rawRecords(mirror.topic(name), ends)) published.push(`${name} ${key}`);
      }
      expect(published.toSorted()).toEqual([...keys].toSorted());
      owner?.kill('SIGTERM');
      await owner?.ended;
      expect((await rollcall(config.path, 'verify')).stdout).toContain('4 of 4 collections are equal.');
    },
  );

  it('publishes exactly one record for each day and class that differs', async () => {
    await using mirror = await openScheduleMirror({
      students: 'all',
      collections: only({ schedules: {}, students: {}, classes: {}, 'class-students': {} }),
      hubOptions: { students: 10, startMs: Date.now() },
      parts: ({ runtime }) => ({ runtime: { ...runtime, now: () => Date.now() } }),
      ...ALWAYS_WITH_LESSONS,
    });
    await mirror.full();
    using config = configFile(mirror.configText);
    const [removed = '', lying = '', other = ''] = (await mirror.view('schedules')).keys();
    const [becameEmpty = '', noAvro = ''] = (await mirror.view('class-students')).keys();
    const { value } = await rawRecord(mirror.topic('schedules'), other);
    const { headers } = await rawRecord(mirror.topic('schedules'), lying);
    await plant(mirror.topic('schedules'), [
      { key: removed, value: null },
      { key: lying, value, headers },
    ]);
    await plant(mirror.topic('class-students'), [
      { key: becameEmpty, value: null },
      { key: noAvro, value: Buffer.from('no Avro') },
    ]);
    const ends = await mirror.ends();
    const repaired = await rollcall(config.path, 'verify', '--repair', '--json');
    expect([reportedDifferences(repaired), repaired.code]).toEqual([[], 0]);
    const published: string[] = [];
    for (const name of ['schedules', 'class-students', 'students', 'classes']) {
      for (const { key } of await rawRecords(mirror.topic(name), ends)) published.push(key);
    }
    expect(published.toSorted()).toEqual([removed, lying, becameEmpty, noAvro].toSorted());
  });

  it('publishes nothing where nothing differs', async () => {
    await using mirror = await mirrored();
    await mirror.full();
    using config = configFile(mirror.configText);
    const ends = await mirror.ends({ progress: true });
    const ended = await rollcall(config.path, 'verify', '--repair');
    expect(ended.code).toBe(0);
    expect(ended.stdout).not.toContain('A full sync has left');
    expect(await mirror.ends({ progress: true })).toEqual(ends);
  });

  it('withholds a mass deletion that a full sync would withhold', async () => {
    await using mirror = await mirrored();
    await mirror.full();
    using config = configFile(mirror.configText);
    const users = mirror.hub.district.ids('users').map(String);
    const record = await rawRecord(mirror.topic('users'), users[0] ?? '');
    const invented = Array.from({ length: users.length * 2 }, (_, at) => ({
      ...record,
      key: `nobody-${at}`,
    }));
    await plant(mirror.topic('users'), invented);
    const ended = await rollcall(config.path, 'verify', '--repair', '--json');
    const states = reportedDifferences(ended).map(({ kind, state }) => `${state} ${kind}`);
    expect(new Set(states)).toEqual(new Set(['withheld left-over']));
    expect(states).toHaveLength(invented.length);
    expect(ended.code).toBe(3);
  });
});
