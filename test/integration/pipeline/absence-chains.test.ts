import { describe, expect, it } from 'vitest';
import { chainProblems, studentProblems, loggedChanges, type LoggedChange } from '../support/chain-oracle.ts';
import { openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { recreateTopic } from './recreate-topic.ts';
import { copyRedis } from './redis-copy.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const OPTIONS: MirrorOptions = {
  collections: COLLECTIONS,
  hubOptions: { students: 12 },
  settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } },
};

async function problemsOf(mirror: Mirror): Promise<string[]> {
  const absences = await mirror.records('absences');
  const changes = await mirror.records('absence-changes');
  return chainProblems({ hub: mirror.hub, absences, changes });
}

async function changesOf(mirror: Mirror, absenceId: string): Promise<LoggedChange[]> {
  const all = loggedChanges(await mirror.records('absence-changes'));
  return all.filter((change) => change.absenceId === absenceId);
}

/** Topic and key of each new record. */
async function newRecords(mirror: Mirror, since: Awaited<ReturnType<Mirror['ends']>>): Promise<string[]> {
  return (await mirror.since(since)).map(({ topic, key }) => `${topic.split('.').at(-1)} ${key}`);
}

/** Waits for the markers of the last transaction first: Kafka would wait for those of a deleted topic. */
async function lose(mirror: Mirror, suffix: string): Promise<void> {
  await mirror.ends();
  await recreateTopic(mirror.topic(suffix));
}

function register(mirror: Mirror, id?: string): string {
  const { district } = mirror.hub;
  const student = district.ids('students')[0] ?? '';
  return district.registerAbsence({
    student,
    fromTime: '2026-03-10T08:00:00Z',
    toTime: '2026-03-10T09:00:00Z',
    id,
  });
}

const LATER = { toTime: '2026-03-10T10:00:00Z' };

describe('absences and their changes', () => {
  it('a first load is published as snapshots, and later changes are not', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    expect(await problemsOf(mirror)).toEqual([]);
    const first = loggedChanges(await mirror.records('absence-changes'));
    expect(first.length).toBeGreaterThan(20);
    expect(first.filter(({ snapshot }) => !snapshot)).toEqual([]);
    const { district } = mirror.hub;
    const id = register(mirror);
    const second = district.replaceAbsence(id, { changes: LATER });
    await mirror.delta();
    await mirror.restart();
    district.deleteAbsence(second);
    await mirror.delta();
    expect(await changesOf(mirror, id)).toMatchObject([
      { step: 1, operation: 'CREATED', versionId: id, previousId: null, snapshot: false, cause: 'HUB' },
      { step: 2, operation: 'REPLACED', versionId: second, previousId: id, snapshot: false },
      { step: 3, operation: 'DELETED', versionId: second, previousId: null, snapshot: false },
    ]);
    expect(await problemsOf(mirror)).toEqual([]);
  });

  it('a record that another student’s version replaces has an absence of its own, which that version ends', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const { district } = mirror.hub;
    const [one = '', other = ''] = district.ids('students').map(String);
    const times = { fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T09:00:00Z' };
    const [stray, lost] = ['stray-2', 'stray-1'];
    district.registerAbsence({ student: one, ...times, id: stray });
    const record = district.snapshot('absence-versions').find(({ sourcedId }) => sourcedId === stray);
    district.put('absence-versions', { ...record, replaces: { sourcedId: lost, type: 'absence' } });
    await mirror.delta();
    district.registerAbsence({ student: other, ...times, id: lost });
    await mirror.delta();
    const redis = await copyRedis(mirror);
    await redis.flush();
    await mirror.restart();
    const next = district.replaceAbsence(lost, { changes: LATER });
    await mirror.full();
    expect(await changesOf(mirror, stray)).toMatchObject([
      { step: 1, operation: 'CREATED', versionId: stray },
    ]);
    expect(await changesOf(mirror, lost)).toMatchObject([
      { step: 1, operation: 'CREATED', versionId: lost },
      { step: 2, operation: 'DELETED', versionId: lost, cause: 'HUB' },
      { step: 3, operation: 'RESTORED', versionId: next, previousId: lost },
    ]);
    const absences = await mirror.records('absences');
    expect(studentProblems({ absences, changes: await mirror.records('absence-changes') })).toEqual([]);
  });

  it('a version that the hub gives to another student is rejected, its absence ends, and the record begins anew', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const { district } = mirror.hub;
    const other = String(district.ids('students')[1]);
    const id = register(mirror);
    await mirror.delta();
    const record = district.snapshot('absence-versions').find(({ sourcedId }) => sourcedId === id);
    district.put('absence-versions', { ...record, student: { sourcedId: other, type: 'user' } });
    await mirror.delta();
    expect((await mirror.view('absence-versions')).has(id)).toBe(false);
    expect((await mirror.view('rejects')).has(`absence-versions|${id}`)).toBe(true);
    expect((await changesOf(mirror, id)).at(-1)).toMatchObject({ operation: 'DELETED', cause: 'VANISHED' });
    expect((await mirror.view('absence-changes')).has(id)).toBe(false);
    await mirror.full();
    expect((await changesOf(mirror, id)).at(-1)).toMatchObject({ step: 1, operation: 'CREATED' });
    expect((await mirror.view('rejects')).has(`absence-versions|${id}`)).toBe(false);
    const ends = await mirror.ends();
    await mirror.full();
    expect(await newRecords(mirror, ends)).toEqual([]);
  });

  it('a version, its event and its absence are committed in one transaction', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const before = mirror.events.filter(({ type }) => type === 'committed').length;
    register(mirror);
    await mirror.delta();
    const commits = mirror.events.filter(({ type }) => type === 'committed').slice(before);
    // The version, the event and the absence.
    expect(commits.map((event) => (event.type === 'committed' ? event.records : 0))).toContain(3);
  });

  it('a tail that is read before its root, or far from it, belongs to the same absence', async () => {
    await using mirror = await openMirror({ ...OPTIONS, hubSettings: { pageSize: 20 } });
    const { district } = mirror.hub;
    const root = register(mirror, 'ffff-root');
    const middle = district.replaceAbsence(root, { newId: '0000-middle', changes: LATER });
    const tail = district.replaceAbsence(middle, { newId: '8888-tail' });
    await mirror.full();
    expect(await changesOf(mirror, root)).toMatchObject([
      { operation: 'CREATED', versionId: root },
      { operation: 'REPLACED', versionId: middle, previousId: root },
      { operation: 'REPLACED', versionId: tail, previousId: middle },
    ]);
    expect(await problemsOf(mirror)).toEqual([]);
  });

  it('purged older versions and a lost index neither change an absence id nor publish an event again', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const { district } = mirror.hub;
    const root = register(mirror);
    const second = district.replaceAbsence(root, { changes: LATER });
    await mirror.delta();
    district.remove('absence-versions', root);
    await mirror.full();
    await mirror.full();
    const ends = await mirror.ends();
    await (await copyRedis(mirror)).flush();
    await mirror.restart();
    await mirror.full();
    expect(await newRecords(mirror, ends)).toEqual([]);
    const third = district.replaceAbsence(second);
    await mirror.delta();
    expect(await changesOf(mirror, root)).toMatchObject([
      { step: 1, versionId: root },
      { step: 2, versionId: second },
      { step: 3, operation: 'REPLACED', versionId: third, previousId: second, snapshot: false },
    ]);
  });

  it('a chain that leaves the hub is no longer current, and its deletion has the cause VANISHED', async () => {
    await using mirror = await openMirror(OPTIONS);
    const root = register(mirror);
    const tail = mirror.hub.district.replaceAbsence(root, { changes: LATER });
    await mirror.full();
    mirror.hub.district.purgeAbsence(root);
    await mirror.full();
    await mirror.full();
    expect((await changesOf(mirror, root)).at(-1)).toMatchObject({
      step: 3,
      operation: 'DELETED',
      versionId: tail,
      cause: 'VANISHED',
      snapshot: false,
    });
    const records = await mirror.records('absence-changes');
    const deletion = records.findLast(({ key, value }) => key === root && value !== null);
    // The log still has the whole version, although the hub has not.
    expect(deletion?.value?.['version']).toMatchObject({ student: expect.anything() });
    expect((await mirror.view('absences')).has(root)).toBe(false);
    // The whole chain has left, so its key is nulled.
    expect((await mirror.view('absence-changes')).has(root)).toBe(false);
    expect(await problemsOf(mirror)).toEqual([]);
  });

  it('a tail that leaves the hub ends its absence, whose last version names a successor, until it is back', async () => {
    await using mirror = await openMirror(OPTIONS);
    const root = register(mirror);
    const { district } = mirror.hub;
    const tail = district.replaceAbsence(root, { changes: LATER });
    await mirror.full();
    const record = district.snapshot('absence-versions').find(({ sourcedId }) => sourcedId === tail);
    district.remove('absence-versions', tail);
    await mirror.full();
    await mirror.full();
    expect((await changesOf(mirror, root)).at(-1)).toMatchObject({
      step: 3,
      operation: 'DELETED',
      versionId: tail,
      cause: 'VANISHED',
    });
    expect((await mirror.view('absences')).has(root)).toBe(false);
    if (record === undefined) throw new Error('the hub did not have the tail');
    district.put('absence-versions', record);
    await mirror.delta();
    expect((await changesOf(mirror, root)).at(-1)).toMatchObject({
      step: 4,
      operation: 'RESTORED',
      versionId: tail,
    });
    expect((await mirror.view('absences')).get(root)?.value?.['sourcedId']).toBe(tail);
  });

  it('a lost topic of versions ends only absences that have left the hub', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const vanished = register(mirror);
    await mirror.delta();
    const published = (await mirror.records('absence-changes')).length;
    await lose(mirror, 'absence-versions');
    mirror.hub.faults.set('missing-list@absences');
    await mirror.restart();
    expect((await mirror.attempt('FULL')).map(({ result }) => result?.kind)).toEqual(['inconclusive']);
    expect(await mirror.records('absence-changes')).toHaveLength(published);
    mirror.hub.faults.clear();
    mirror.hub.district.purgeAbsence(vanished);
    await mirror.full();
    await mirror.full();
    expect(await problemsOf(mirror)).toEqual([]);
    expect((await mirror.records('absence-changes')).slice(published).map(({ key }) => key)).toEqual([
      vanished,
      vanished,
    ]);
  });

  it('absences that are mirrored later than their versions are published as snapshots', async () => {
    await using versions = await openMirror({ ...OPTIONS, collections: ['absence-versions'] });
    await versions.full();
    const { hub, topicPrefix } = versions;
    await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
    await mirror.full();
    expect(await problemsOf(mirror)).toEqual([]);
    const published = loggedChanges(await mirror.records('absence-changes'));
    expect(published.filter(({ snapshot }) => !snapshot)).toEqual([]);
    register(mirror);
    await mirror.delta();
    expect(
      loggedChanges(await mirror.records('absence-changes')).filter(({ snapshot }) => !snapshot),
    ).toHaveLength(1);
  });

  it('the progress of both derived topics has their rows and offsets', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const progress = await mirror.view('progress');
    for (const collection of ['absences', 'absence-changes'] as const) {
      const value = progress.get(collection)?.value;
      const view = await mirror.view(collection);
      expect(value?.['lastCompleteFull']).toMatchObject({ rows: view.size });
      const offsets = Object.keys(value?.['offsets'] as object);
      expect(offsets.filter((name) => !name.startsWith(`${mirror.topic(collection)}/`))).toEqual([]);
      expect(offsets.length).toBeGreaterThan(0);
    }
  });
});
