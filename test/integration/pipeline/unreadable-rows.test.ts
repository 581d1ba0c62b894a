import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { idOf } from '../support/rows.ts';

const TEN_MINUTES_MS = 600_000;
/** As keys of Kafka, fields of Redis, and parts of addresses. */
const UNUSUAL_IDS = [
  'a|b',
  'a%7Cb',
  "o'hara",
  'å ø æ',
  '日本',
  'a b+c&d=e',
  '/../x',
  '__proto__',
  'A',
  'a',
  '😀',
];

it('ids of any characters are distinct keys, and large rows are published or rejected', async () => {
  await using mirror = await openMirror({ collections: ['courses'], hubSettings: { pageSize: 3 } });
  const { district } = mirror.hub;
  for (const id of UNUSUAL_IDS) district.put('courses', { sourcedId: id, title: `Course ${id}` });
  for (let index = 0; index < 20; index += 1)
    district.put('courses', { sourcedId: `large-${index}`, title: 'x'.repeat(600_000) });
  district.put('courses', { sourcedId: 'huge', title: 'x'.repeat(2_000_000) });
  await mirror.full();
  const view = await mirror.view('courses');
  expect(UNUSUAL_IDS.filter((id) => view.get(id)?.value?.['title'] !== `Course ${id}`)).toEqual([]);
  const rejects = await mirror.view('rejects');
  expect([...rejects].map(([key, { value }]) => [key, value?.['row']])).toEqual([['courses|huge', null]]);
  district.put('courses', { sourcedId: 'huge', title: 'small now' });
  const before = await mirror.ends();
  const gone = ["o'hara", 'a|b', '日本', '__proto__'];
  for (const id of gone) district.remove('courses', id);
  await mirror.full();
  const removed = (await mirror.since(before)).filter(({ value }) => value === null);
  expect(removed.map(({ key }) => key).toSorted()).toEqual([...gone, 'courses|huge'].toSorted());
  expect(await mirror.differences()).toEqual({});
});

it('an unreadable row goes to rejects without masked values, and is not removed', async () => {
  await using mirror = await openMirror({
    collections: only({ 'absence-versions': { drop: ['x-note'], pseudonymise: ['student'] } }),
    settings: { pseudonymise: { key: 'a key of at least thirty-two characters, surely' } },
  });
  const { district, clock } = mirror.hub;
  await mirror.full();
  const before = await mirror.ends();
  const [id = '', other = ''] = district.ids('absence-versions');
  const row = district.get('absence-versions', id) ?? {};
  const student = idOf(row['student'] as object);
  clock.advance(TEN_MINUTES_MS);
  district.patch('absence-versions', id, { fromTime: 'a quarter past nine', 'x-note': 'flu' });
  district.patch('absence-versions', other, { toTime: 'never' });
  district.put('absence-versions', { sourcedId: 'a|b%c', fromTime: 'soon' });
  const { stats } = (await mirror.incremental()).get('absence-versions') ?? {};
  expect(stats).toMatchObject({ mode: 'INCREMENTAL', rowsRejected: 3 });
  await mirror.full();
  await mirror.restart();
  await mirror.full();
  const published = await mirror.since(before);
  expect(published.map(({ topic, key }) => `${topic} ${key}`).toSorted()).toEqual(
    [id, other, 'a%7Cb%25c'].map((key) => `${mirror.topic('rejects')} absence-versions|${key}`).toSorted(),
  );
  const { value } = published.find(({ key }) => key.endsWith(`|${id}`)) ?? {};
  expect(value).toMatchObject({
    collection: 'absence-versions',
    sourcedId: id,
    reason: expect.stringMatching(/fromTime(?!.*quarter)/) as string,
    row: expect.stringContaining('a quarter past nine') as string,
  });
  for (const secret of ['flu', student]) expect(value?.['row']).not.toContain(secret);

  clock.advance(TEN_MINUTES_MS);
  district.patch('absence-versions', id, { fromTime: row['fromTime'] ?? null });
  district.remove('absence-versions', other);
  district.remove('absence-versions', 'a|b%c');
  await mirror.incremental();
  await mirror.full();
  expect((await mirror.view('rejects')).size).toBe(0);
  const kept = [...(await mirror.view('absence-versions')).keys()].toSorted();
  expect(kept).toEqual(district.ids('absence-versions').toSorted());
  // The row again has the content that the topic has had all along.
  expect((await mirror.records('absence-versions')).filter(({ key }) => key === id)).toHaveLength(1);
});
