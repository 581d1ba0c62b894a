import { createHmac } from 'node:crypto';
import { afterAll, expect, it, vi } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { openMirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { idOf } from '../support/rows.ts';
import type { TopicRecord } from '../support/stack-kafka.ts';

const TEN_MINUTES_MS = 600_000;
const KEY = 'a key of at least thirty-two characters, surely';
/** All but `courses`, of which fields are left out. */
const WHOLE: CollectionName[] = ['users', 'students', 'enrollments', 'results', 'absence-versions'];

const brief = ({ topic, key, headers }: TopicRecord): string =>
  `${topic.split('.').at(-1)} ${key} ${headers['ce_type']?.split('.').at(-1)}`;

/** All tests share one tenant. */
const mirror = await openMirror({
  collections: only({
    ...Object.fromEntries(WHOLE.map((name) => [name, {}])),
    courses: { drop: ['courseCode', 'x-secret'], pseudonymise: ['title'], ignore: ['x-seats'] },
  }),
  hubSettings: { pageSize: 50 },
  settings: { pseudonymise: { key: KEY } },
});
afterAll(() => mirror[Symbol.asyncDispose]());
const chess = { sourcedId: 'c-1', title: 'Chess', courseCode: 'C1', 'x-secret': 'fox' };
mirror.hub.district.put('courses', chess);
await mirror.full();

const valueOf = async (suffix: string, id: string) => (await mirror.view(suffix)).get(id)?.value;

it('an incremental sync publishes exactly the changed rows, and its progress says so', async () => {
  const { district, clock } = mirror.hub;
  const progress = async () => (await valueOf('progress', 'users')) ?? {};
  clock.advance(TEN_MINUTES_MS);
  const [before, start] = [await mirror.ends(), await progress()];
  const [student = ''] = district.ids('students');
  const [, result = ''] = district.ids('results');
  const [absence = ''] = district
    .snapshot('absence-versions')
    .filter(({ replacedBy, deletedTime }) => replacedBy == null && deletedTime == null)
    .map(idOf);
  district.patch('users', student, { givenName: 'Changed' });
  district.patch('results', result, { score: 1.5 });
  district.patch('courses', 'c-1', { status: 'tobedeleted' });
  const successor = district.replaceAbsence(absence, { changes: { absenceDurationValue: 7 } });
  const { stats } = (await mirror.incremental()).get('users') ?? {};
  const published = await mirror.since(before);
  expect(published.map(brief).toSorted()).toEqual(
    [
      `users ${student} updated`,
      `students ${student} updated`,
      `results ${result} updated`,
      `courses c-1 updated`,
      `absence-versions ${absence} updated`,
      `absence-versions ${successor} created`,
    ].toSorted(),
  );
  expect(stats).toMatchObject({ mode: 'INCREMENTAL', rowsSeen: 1, rowsUpdated: 1 });
  expect(await mirror.differences(...WHOLE)).toEqual({});
  const end = await progress();
  const changed = published.find(({ topic }) => topic === mirror.topic('users'));
  expect(end).toMatchObject({
    mode: 'INCREMENTAL',
    complete: true,
    rowsPublished: 1,
    lastCompleteFull: start['lastCompleteFull'],
    offsets: { ...Object(start['offsets']), [`${changed?.topic}/${changed?.partition}`]: changed?.offset },
  });
});

it('a row that left the hub gets one tombstone by a full sync, and is created when the row is back', async () => {
  const { district, clock, faults, requests } = mirror.hub;
  const [gone = ''] = district.ids('users');
  const { dateLastModified: _, ...row } = district.get('users', gone) ?? {};
  const back = (): string => district.put('users', { ...row, sourcedId: gone });
  const before = await mirror.ends();
  clock.advance(TEN_MINUTES_MS);
  // One that is back when the confirming sync reads it is not removed.
  faults.set('latency=500@users');
  requests.clear();
  district.remove('users', gone);
  const sync = mirror.full('users');
  await vi.waitFor(() => expect(requests.counts()['users']).toHaveProperty('200'), { interval: 5 });
  back();
  expect((await sync).get('users')).toMatchObject({ kind: 'complete', rowsOnHold: 0 });
  faults.clear();
  district.remove('users', gone);
  await mirror.incremental('users');
  expect(await mirror.ends()).toEqual(before);
  expect((await mirror.full('users')).get('users')).toMatchObject({ stats: { rowsRemoved: 1 } });
  await mirror.full('users');
  back();
  await mirror.full('users');
  const published = await mirror.since(before);
  expect(published.map(brief)).toEqual([`users ${gone} deleted`, `users ${gone} created`]);
  const [deletion] = published;
  expect([deletion?.value, deletion?.headers['content-hash']]).toEqual([null, undefined]);
  expect(deletion?.headers).toMatchObject({ ce_specversion: '1.0', 'content-type': 'application/avro' });
});

it('dropped and pseudonymised values are never published, and ignored fields cause no record', async () => {
  const { district } = mirror.hub;
  const value = await valueOf('courses', 'c-1');
  const title = createHmac('sha256', KEY).update('Chess').digest('hex');
  expect(value).toMatchObject({ title, courseCode: null, status: 'tobedeleted' });
  expect(JSON.stringify(value)).not.toMatch(/Chess|fox/);
  const before = await mirror.ends();
  district.patch('courses', 'c-1', { courseCode: 'C2', 'x-secret': 'hen', 'x-seats': 8 });
  await mirror.full('courses');
  expect(await mirror.ends()).toEqual(before);
  district.patch('courses', 'c-1', { title: 'Go' });
  await mirror.full('courses');
  expect((await mirror.since(before)).map(brief)).toEqual(['courses c-1 updated']);
  expect(await valueOf('courses', 'c-1')).toMatchObject({ additionalFields: '{"x-seats":8}' });
});

it('a re-stamp causes no record, and neither do hrefs that changed', async () => {
  const { hub } = mirror;
  const before = await mirror.ends();
  hub.clock.advance(TEN_MINUTES_MS);
  hub.district.restamp();
  const incrementals = await mirror.incremental();
  expect(incrementals.get('users')?.stats).toMatchObject({ mode: 'FULL', rowsCreated: 0, rowsUpdated: 0 });
  hub.faults.set('relative-hrefs');
  const full = await mirror.full();
  hub.faults.clear();
  expect(full.get('users')?.stats.rowsUnchanged).toBe(hub.district.ids('users').length);
  expect(await mirror.ends()).toEqual(before);
});
