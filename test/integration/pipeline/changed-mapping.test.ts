import { expect, it } from 'vitest';
import { loggedChanges } from '../../oracle/absences.ts';
import { openMirror, registerAbsence, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';

const OPTIONS: MirrorOptions = {
  collections: only({ 'absence-versions': {}, absences: {}, 'absence-changes': {} }),
  hubOptions: { students: 12 },
  settings: {
    deletions: { holdAbove: { rows: 10_000, ratio: 1 } },
    pseudonymise: { key: 'a key of sixteen or more' },
  },
};
const MASKED = only({
  'absence-versions': { pseudonymise: ['student'], drop: ['school'] },
  absences: {},
  'absence-changes': {},
});

it('no field that a changed mapping drops or pseudonymises is published, even if read back from the log', async () => {
  await using mirror = await openMirror(OPTIONS);
  const { hub, topicPrefix } = mirror;
  const { district } = hub;
  const students = district.ids('students');
  /** A chain of two versions; returns the ids of both. */
  const chainOf = (student: string): [string, string] => {
    const first = registerAbsence(hub, student);
    return [first, district.replaceAbsence(first, { changes: { toTime: '2026-03-10T10:00:00Z' } })];
  };
  const [whole] = chainOf(students[0] ?? '');
  const [first, tail] = chainOf(students[1] ?? '');
  await mirror.full();
  district.purgeAbsence(whole);
  district.remove('absence-versions', tail);
  const ends = await mirror.ends();
  await using masked = await openMirror({ ...OPTIONS, hub, topicPrefix, collections: MASKED });
  await masked.full();
  const published = await masked.since(ends);
  const events = published.filter(({ topic, value }) => topic.endsWith('.absence-changes') && value !== null);
  const ended = loggedChanges(events).map((each) => `${each.absenceId} ${each.operation} ${each.cause}`);
  expect(ended.toSorted()).toEqual([whole, first].map((id) => `${id} DELETED VANISHED`).toSorted());
  const texts = published.map(({ value }) => JSON.stringify(value));
  expect(students.filter((id) => texts.some((text) => text.includes(id)))).toEqual([]);
  expect(texts.filter((text) => /"school":[^n]/.test(text))).toEqual([]);
  // The events have more than the ids of the versions.
  for (const { value } of events) expect(value).toMatchObject({ version: { student: expect.anything() } });
  expect(published.length).toBeGreaterThan(events.length);
  const settled = await masked.ends();
  await masked.full();
  expect(await masked.since(settled)).toEqual([]);
});
