import { afterAll, expect, inject, it } from 'vitest';
import { appendAborted } from '../../faults/support/compaction.ts';
import { chainProblems, loggedChanges, type LoggedChange } from '../../oracle/absences.ts';
import { openMirror, registerAbsence } from '../support/mirror.ts';
import { flushRedis } from './redis-copy.ts';

const LATER = { toTime: '2026-03-10T10:00:00Z' };

/** All tests share one load. */
const mirror = await openMirror({
  collections: ['absence-versions', 'absences', 'absence-changes'],
  hubOptions: { students: 12 },
  settings: { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
});
afterAll(() => mirror[Symbol.asyncDispose]());
const written = ['absence-changes', 'absence-state'].map((suffix) => mirror.topic(suffix));
await appendAborted(inject('stack').kafkaBrokers, written);
await mirror.restart();
await mirror.full();

async function expectSound(): Promise<void> {
  const [absences, changes] = [await mirror.records('absences'), await mirror.records('absence-changes')];
  expect(chainProblems({ hub: mirror.hub, absences, changes })).toEqual([]);
}

async function changesOf(absenceId: string): Promise<LoggedChange[]> {
  const all = loggedChanges(await mirror.records('absence-changes'));
  return all.filter((change) => change.absenceId === absenceId);
}

const register = (): string => registerAbsence(mirror.hub);

it('the first load of absences publishes only snapshot events, even after an aborted transaction', async () => {
  await expectSound();
  const snapshots = loggedChanges(await mirror.records('absence-changes')).map(({ snapshot }) => snapshot);
  expect(snapshots.length).toBeGreaterThan(20);
  expect(new Set(snapshots)).toEqual(new Set([true]));
});

it('an absence version, its event and its absence are committed in one transaction', async () => {
  const before = mirror.events.length;
  const id = register();
  await mirror.incremental();
  const committed = mirror.events.slice(before).filter(({ type }) => type === 'committed');
  expect(committed).toContainEqual(expect.objectContaining({ records: 3 }));
  expect(await changesOf(id)).toMatchObject([{ step: 1, operation: 'CREATED', snapshot: false }]);
});

it('purged older versions and a lost index neither change an absence id nor publish an event again', async () => {
  const { district } = mirror.hub;
  const root = register();
  const second = district.replaceAbsence(root, { changes: LATER });
  await mirror.incremental();
  district.remove('absence-versions', root);
  await mirror.full();
  const ends = await mirror.ends();
  await flushRedis(mirror.topicPrefix);
  await mirror.restart();
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
  const third = district.replaceAbsence(second);
  await mirror.incremental();
  district.purgeAbsence(third);
  await mirror.full();
  expect(await changesOf(root)).toMatchObject([
    { step: 1, operation: 'CREATED', versionId: root, previousId: null, cause: 'HUB' },
    { step: 2, operation: 'REPLACED', versionId: second, previousId: root },
    { step: 3, operation: 'REPLACED', versionId: third, previousId: second, snapshot: false },
    { step: 4, operation: 'DELETED', versionId: third, previousId: null, cause: 'VANISHED' },
  ]);
  // The whole chain has left, so its keys are nulled.
  for (const suffix of ['absences', 'absence-changes'])
    expect((await mirror.view(suffix)).has(root)).toBe(false);
});

it('a version that the hub gives to another student is rejected, and its absence ends and begins again', async () => {
  const { district } = mirror.hub;
  const id = register();
  await mirror.incremental();
  const record = district.snapshot('absence-versions').find(({ sourcedId }) => sourcedId === id);
  const other = String(district.ids('students')[1]);
  district.put('absence-versions', { ...record, student: { sourcedId: other, type: 'user' } });
  await mirror.incremental();
  expect((await mirror.view('absence-versions')).has(id)).toBe(false);
  expect((await mirror.view('rejects')).has(`absence-versions|${id}`)).toBe(true);
  expect((await changesOf(id)).at(-1)).toMatchObject({ operation: 'DELETED', cause: 'VANISHED' });
  expect((await mirror.view('absence-changes')).has(id)).toBe(false);
  await mirror.full();
  expect((await changesOf(id)).at(-1)).toMatchObject({ step: 1, operation: 'CREATED' });
  expect((await mirror.view('rejects')).has(`absence-versions|${id}`)).toBe(false);
  const ends = await mirror.ends();
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
});
