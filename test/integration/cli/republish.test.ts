import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALWAYS_WITH_LESSONS, openScheduleMirror, type ScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { idOf } from '../support/rows.ts';
import { only } from '../support/only.ts';
import { compactedView, type EndOffsets } from '../support/topic-reader.ts';
import { configFile } from './support/config-file.ts';
import { rollcall, startRollcall, type Ended } from './support/rollcall.ts';

describe('republish', () => {
  let mirror: ScheduleMirror;
  let config: ReturnType<typeof configFile>;
  beforeAll(async () => {
    mirror = await openScheduleMirror({
      students: 'all',
      collections: only({
        users: {},
        categories: {},
        students: {},
        classes: {},
        'class-students': {},
        schedules: {},
        'absence-versions': {},
        absences: {},
        'absence-changes': {},
      }),
      hubOptions: { students: 12, startMs: Date.now(), size: { absencesPerStudentYear: 6 } },
      parts: ({ runtime }) => ({ runtime: { ...runtime, now: () => Date.now() } }),
      ...ALWAYS_WITH_LESSONS,
      tenant: { deltaEvery: '1h' },
      settings: { http: { port: 0 } },
    });
    for (const at of [1, 2, 3, 4, 5, 6])
      mirror.hub.district.put('categories', { sourcedId: `more-${at}`, title: `${at}` });
    await mirror.full();
    config = configFile(mirror.configText);
  });
  afterAll(async () => {
    config[Symbol.dispose]();
    await mirror[Symbol.asyncDispose]();
  });

  const republish = (...args: string[]): Promise<Ended> =>
    rollcall(config.path, 'republish', '--json', ...args);
  const tenantIn = ({ stdout }: Ended): unknown => (JSON.parse(stdout) as { tenants: unknown[] }).tenants[0];

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

  it.each(['users', 'class-students', 'absences', 'schedules'])(
    'of all %s publishes each key once more, and nothing to any other topic',
    async (collection) => {
      const view = await mirror.view(collection);
      expect(view.size).toBeGreaterThan(5);
      const ends = await mirror.ends();
      const ended = await republish(collection);
      expect([ended.code, tenantIn(ended)]).toMatchObject([0, { published: view.size, missing: [] }]);
      await expectAgain(collection, ends, view.keys());
    },
  );

  it.each(['users', 'class-students', 'absences', 'schedules'])(
    'of one key of %s publishes that key only',
    async (collection) => {
      const [key = ''] = (await mirror.view(collection)).keys();
      const ends = await mirror.ends();
      const ended = await republish(collection, '--key', key);
      expect([ended.code, tenantIn(ended)]).toMatchObject([0, { published: 1, missing: [] }]);
      await expectAgain(collection, ends, [key]);
    },
  );

  it('is done by the running process', async () => {
    const owner = startRollcall(config.path, ['run']);
    await owner.says('mirroring');
    const [one = '', two = ''] = mirror.hub.district.ids('users').map(String);
    const ends = await mirror.ends();
    const ended = await republish('users', '--key', one, two);
    expect(ended.stderr).toContain('asking the process that runs');
    expect([ended.code, tenantIn(ended)]).toMatchObject([0, { published: 2 }]);
    await expectAgain('users', ends, [one, two]);
    const [day = ''] = (await mirror.view('schedules')).keys();
    const daysFrom = await mirror.ends();
    expect(tenantIn(await republish('schedules', '--key', day))).toMatchObject({ published: 1, missing: [] });
    await expectAgain('schedules', daysFrom, [day]);
    owner.kill('SIGTERM');
    await owner.ended;
  });

  it('of a collection that lost most of its rows withholds their removal and exits with 3', async () => {
    const { district } = mirror.hub;
    const gone = district.snapshot('categories').slice(1);
    for (const row of gone) district.remove('categories', idOf(row));
    const ended = await republish('categories');
    expect([ended.code, tenantIn(ended)]).toMatchObject([3, { published: 1, withheld: gone.length }]);
    expect(ended.stderr).toContain('rollcall deletes list');
    for (const row of gone) district.put('categories', row);
  });

  it('publishes nothing for a key that the hub does not have, and says so', async () => {
    const ends = await mirror.ends();
    const ended = await republish('users', '--key', 'nobody');
    expect([ended.code, tenantIn(ended)]).toMatchObject([1, { published: 0, missing: ['nobody'] }]);
    expect(ended.stderr).toContain('not found: nobody');
    expect(await mirror.since(ends)).toEqual([]);
  });

  it('of absence-changes publishes the last event of each absence again: the same step, as a snapshot', async () => {
    const before = await mirror.view('absence-changes');
    const ends = await mirror.ends();
    const ended = await republish('absence-changes');
    expect([ended.code, tenantIn(ended)]).toMatchObject([0, { published: before.size, missing: [] }]);
    const after = await mirror.since(ends);
    expect(after.map(({ topic, key }) => `${topic} ${key}`).toSorted()).toEqual(
      [...before.keys()].map((key) => `${mirror.topic('absence-changes')} ${key}`).toSorted(),
    );
    for (const { key, value } of after) expect(value).toEqual({ ...before.get(key)?.value, snapshot: true });
  });

  it.each(['rejects', 'progress'])('refuses %s', async (collection) => {
    const { code, stderr } = await republish(collection);
    expect(code).toBe(2);
    expect(stderr).toContain(`There is no collection "${collection}"`);
  });
});
