import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';

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

it('ids with any characters are distinct keys, and only rows too large for Kafka are rejected', async () => {
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
