import { createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import type { TopicRecord } from '../support/topic-reader.ts';
import { only } from '../support/only.ts';
import { idOf } from '../support/rows.ts';

const TEN_MINUTES_MS = 600_000;

const brief = ({ topic, key, headers }: TopicRecord): string =>
  `${topic.split('.').at(-1)} ${key} ${headers['ce_type']?.split('.').at(-1)}`;

describe('changes', () => {
  it('a re-stamp causes no record', async () => {
    await using mirror = await openMirror({ hubOptions: { students: 40 }, hubSettings: { pageSize: 20 } });
    await mirror.full();
    const before = await mirror.ends();
    mirror.hub.clock.advance(TEN_MINUTES_MS);
    mirror.hub.district.restamp();
    const deltas = await mirror.delta();
    expect(deltas.get('users')?.stats).toMatchObject({ mode: 'FULL', rowsCreated: 0, rowsUpdated: 0 });
    expect(await mirror.ends()).toEqual(before);
    mirror.hub.clock.advance(TEN_MINUTES_MS);
    mirror.hub.district.restamp();
    const full = await mirror.full();
    expect(full.get('users')?.stats.rowsUnchanged).toBe(mirror.hub.district.ids('users').length);
    expect(await mirror.ends()).toEqual(before);
  });

  it('another address of the hub causes no record, because href is no content', async () => {
    await using mirror = await openMirror({ collections: ['enrollments', 'results'] });
    await mirror.full();
    const before = await mirror.ends();
    mirror.hub.faults.set('relative-hrefs');
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
  });

  it('an incremental sync publishes exactly the changed rows', async () => {
    await using mirror = await openMirror({
      collections: ['users', 'students', 'enrollments', 'results', 'absence-versions'],
    });
    const { district, clock } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    clock.advance(TEN_MINUTES_MS);
    const [student = ''] = district.ids('students');
    const [, result = ''] = district.ids('results');
    const [absence = ''] = district
      .snapshot('absence-versions')
      .filter(({ replacedBy, deletedTime }) => replacedBy == null && deletedTime == null)
      .map(idOf);
    district.patch('users', student, { givenName: 'Changed' });
    district.patch('results', result, { score: 1.5 });
    const successor = district.replaceAbsence(absence, { changes: { absenceDurationValue: 7 } });
    const results = await mirror.delta();
    expect((await mirror.since(before)).map(brief).toSorted()).toEqual(
      [
        `users ${student} updated`,
        `students ${student} updated`,
        `results ${result} updated`,
        `absence-versions ${absence} updated`,
        `absence-versions ${successor} created`,
      ].toSorted(),
    );
    expect(results.get('users')?.stats).toMatchObject({ mode: 'INCREMENTAL', rowsSeen: 1, rowsUpdated: 1 });
    expect(results.get('enrollments')?.stats).toMatchObject({ mode: 'INCREMENTAL', rowsSeen: 0 });
    expect(await mirror.differences()).toEqual({});
    const afterwards = await mirror.ends();
    await mirror.delta();
    expect(await mirror.ends()).toEqual(afterwards);
  });

  it('an incremental sync finds a change that the hub shows late but within the overlap', async () => {
    await using mirror = await openMirror({ collections: ['users'] });
    const { district, clock, faults } = mirror.hub;
    await mirror.full();
    clock.advance(TEN_MINUTES_MS);
    await mirror.delta();
    // The row is stamped two minutes ago: before the last sync began, but within the overlap.
    faults.set('late-stamps=120000');
    const [id = ''] = district.ids('users');
    district.patch('users', id, { givenName: 'Late' });
    await mirror.delta();
    expect(await mirror.differences()).toEqual({});
  });

  it('a row that vanishes becomes one tombstone after the next full sync, never after an incremental one', async () => {
    await using mirror = await openMirror({ collections: ['users', 'students', 'results'] });
    const { district, clock } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    const [gone = ''] = district.ids('students');
    clock.advance(TEN_MINUTES_MS);
    district.remove('users', gone);
    await mirror.delta();
    expect(await mirror.ends()).toEqual(before);
    const results = await mirror.full();
    expect(results.get('users')).toMatchObject({ kind: 'complete', withheld: 0, stats: { rowsRemoved: 1 } });
    const published = await mirror.since(before);
    expect(published.map(brief).toSorted()).toEqual([`students ${gone} deleted`, `users ${gone} deleted`]);
    for (const { value, headers } of published) {
      expect(value).toBeNull();
      expect(headers['content-hash']).toBeUndefined();
      expect(headers).toMatchObject({ ce_specversion: '1.0', 'content-type': 'application/avro' });
    }
    const afterwards = await mirror.ends();
    await mirror.full();
    await mirror.full();
    expect(await mirror.ends()).toEqual(afterwards);
    expect(await mirror.differences()).toEqual({});
  });

  it('a row that is back when the confirming sync reads is not removed', async () => {
    await using mirror = await openMirror({ collections: ['users'] });
    const { district, faults, requests } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    const [id = ''] = district.ids('users');
    const row = district.get('users', id) ?? {};
    faults.set('latency=500@users');
    requests.clear();
    district.remove('users', id);
    const sync = mirror.full();
    await vi.waitFor(() => expect(requests.counts()['users']).toEqual({ 200: 1 }), {
      timeout: 10_000,
      interval: 5,
    });
    district.put('users', { ...row, sourcedId: id });
    expect((await sync).get('users')).toMatchObject({ kind: 'complete', withheld: 0 });
    expect(await mirror.ends()).toEqual(before);
    expect(await mirror.differences()).toEqual({});
  });

  it('rows that every scan leaves out are not removed', async () => {
    await using mirror = await openMirror({ collections: ['users'], hubSettings: { pageSize: 10 } });
    await mirror.full();
    const before = await mirror.ends();
    mirror.hub.faults.set('skip-rows');
    await mirror.full();
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
  });

  it('a row marked tobedeleted is published as an update, not as a removal', async () => {
    await using mirror = await openMirror({ collections: ['courses'] });
    const { district, clock } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    const [id = ''] = district.ids('courses');
    clock.advance(TEN_MINUTES_MS);
    district.patch('courses', id, { status: 'tobedeleted' });
    await mirror.delta();
    await mirror.full();
    expect((await mirror.since(before)).map(brief)).toEqual([`courses ${id} updated`]);
    expect((await mirror.view('courses')).get(id)?.value).toMatchObject({ status: 'tobedeleted' });
  });

  it('all versions of a chain that leaves the hub are removed', async () => {
    await using mirror = await openMirror({ collections: ['absence-versions'] });
    const { district } = mirror.hub;
    const tail = district
      .snapshot('absence-versions')
      .find(({ replaces, replacedBy }) => replaces != null && replacedBy == null);
    await mirror.full();
    const before = await mirror.ends();
    const purged = district.purgeAbsence(idOf(tail));
    expect(purged.length).toBeGreaterThan(1);
    await mirror.full();
    expect((await mirror.since(before)).map(brief).toSorted()).toEqual(
      purged.map((id) => `absence-versions ${id} deleted`).toSorted(),
    );
  });

  it('the progress of an incremental sync repeats the last complete full sync', async () => {
    await using mirror = await openMirror({ collections: ['users'] });
    const { district, clock } = mirror.hub;
    await mirror.full();
    const progress = async (): Promise<Readonly<Record<string, unknown>>> =>
      (await mirror.view('progress')).get('users')?.value ?? {};
    const afterFull = await progress();
    clock.advance(TEN_MINUTES_MS);
    const [id = ''] = district.ids('users');
    // A clock that jumped is trusted only from the next sync on.
    await mirror.delta();
    district.patch('users', id, { givenName: 'Changed' });
    await mirror.delta();
    const afterDelta = await progress();
    expect(afterDelta).toMatchObject({ mode: 'INCREMENTAL', complete: true, rowsSeen: 1, rowsPublished: 1 });
    expect(afterDelta['lastCompleteFull']).toEqual(afterFull['lastCompleteFull']);
    expect(Number(afterDelta['watermark']) - Number(afterFull['watermark'])).toBeGreaterThan(500_000);
    const changed = (await mirror.records('users')).findLast(({ key }) => key === id);
    expect(afterDelta['offsets']).toEqual({
      ...(afterFull['offsets'] as Record<string, number>),
      [`${changed?.topic}/${changed?.partition}`]: changed?.offset,
    });
  });

  it('A, B and A again are three records with three ids', async () => {
    await using mirror = await openMirror({ collections: ['users'] });
    const { district, clock } = mirror.hub;
    const [id = ''] = district.ids('users');
    const original = district.get('users', id)?.['givenName'] ?? null;
    await mirror.full();
    clock.advance(TEN_MINUTES_MS);
    district.patch('users', id, { givenName: 'B' });
    await mirror.delta();
    clock.advance(TEN_MINUTES_MS);
    district.patch('users', id, { givenName: original });
    await mirror.delta();
    const own = (await mirror.records('users')).filter(({ key }) => key === id);
    expect(own.map(({ value }) => value?.['givenName'])).toEqual([original, 'B', original]);
    expect(new Set(own.map(({ headers }) => headers['ce_id'])).size).toBe(3);
    const hashes = own.map(({ headers }) => headers['content-hash']);
    expect(hashes[0]).toBe(hashes[2]);
    expect(hashes[0]).not.toBe(hashes[1]);
  });

  it('a row that vanishes and comes back is deleted and created', async () => {
    await using mirror = await openMirror({ collections: ['courses'] });
    const { district } = mirror.hub;
    district.put('courses', { sourcedId: 'c-1', title: 'Chess' });
    await mirror.full();
    const before = await mirror.ends();
    district.remove('courses', 'c-1');
    await mirror.full();
    district.put('courses', { sourcedId: 'c-1', title: 'Chess' });
    await mirror.full();
    expect((await mirror.since(before)).map(brief)).toEqual(['courses c-1 deleted', 'courses c-1 created']);
  });

  it('dropped and pseudonymised values are never published, and ignored fields cause no record', async () => {
    const key = 'a key of at least thirty-two characters, surely';
    await using mirror = await openMirror({
      collections: only({
        users: {
          drop: ['familyName', 'x-secret'],
          pseudonymise: ['givenName', 'username'],
          ignore: ['email'],
        },
        results: { pseudonymise: ['student'] },
      }),
      settings: { pseudonymise: { key } },
    });
    const { district, clock } = mirror.hub;
    const [id = ''] = district.ids('users');
    district.patch('users', id, {
      givenName: 'Ada',
      familyName: 'Lovelace',
      'x-secret': 'fox',
      email: 'a@b.no',
    });
    await mirror.full();
    const value = (await mirror.view('users')).get(id)?.value;
    expect(value).toMatchObject({ familyName: null, email: 'a@b.no' });
    const pseudonym = createHmac('sha256', key).update('Ada').digest('hex');
    expect(value?.['givenName']).toBe(pseudonym);
    for (const text of ['Lovelace', 'fox', 'Ada"']) expect(JSON.stringify(value)).not.toContain(text);
    const [result] = district.snapshot('results');
    const student = idOf(Object(result?.['student']) as object);
    const published = (await mirror.view('results')).get(idOf(result))?.value;
    expect(published?.['student']).toMatchObject({
      sourcedId: createHmac('sha256', key).update(student).digest('hex'),
      href: null,
    });
    const before = await mirror.ends();
    clock.advance(TEN_MINUTES_MS);
    district.patch('users', id, { familyName: 'Byron', 'x-secret': 'hen', email: 'c@d.no' });
    await mirror.delta('users');
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
    district.patch('users', id, { givenName: 'Augusta' });
    await mirror.full('users');
    const [changed, ...none] = await mirror.since(before);
    expect(none).toEqual([]);
    expect(changed?.value).toMatchObject({ email: 'c@d.no', familyName: null });
  });
});
