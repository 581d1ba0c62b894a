import { describe, expect, it } from 'vitest';
import { differences } from '../support/hub-oracle.ts';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';

const TEN_MINUTES_MS = 600_000;

async function rejects(mirror: Mirror): Promise<[string, Readonly<Record<string, unknown>> | null][]> {
  return [...(await mirror.view('rejects')).entries()].map(([key, { value }]) => [key, value]);
}

/** The differences between a topic and the hub, except for these keys, which the topic may lack. */
async function differencesWithout(
  mirror: Mirror,
  collection: 'courses' | 'absence-versions',
  unreadable: ReadonlySet<string>,
): Promise<string[]> {
  return differences({ hub: mirror.hub, collection, records: await mirror.records(collection), unreadable });
}

describe('an unreadable row', () => {
  it('goes to rejects and is not removed, and its reject is cleared once it can be read', async () => {
    await using mirror = await openMirror({ collections: ['absence-versions', 'courses'] });
    const { district, clock } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    const [id = ''] = district.ids('absence-versions');
    const fromTime = district.get('absence-versions', id)?.['fromTime'] ?? null;
    clock.advance(TEN_MINUTES_MS);
    district.patch('absence-versions', id, { fromTime: 'a quarter past nine' });
    const delta = await mirror.delta();
    expect(delta.get('absence-versions')?.stats).toMatchObject({ mode: 'INCREMENTAL', rowsRejected: 1 });
    await mirror.full();
    await mirror.full();
    const published = await mirror.since(before);
    expect(published.map(({ topic, key }) => [topic, key])).toEqual([
      [mirror.topic('rejects'), `absence-versions|${id}`],
    ]);
    expect(published[0]?.value).toMatchObject({
      collection: 'absence-versions',
      sourcedId: id,
      reason: expect.stringContaining('fromTime') as string,
      row: expect.stringContaining('a quarter past nine') as string,
    });
    expect(published[0]?.value?.['reason']).not.toContain('quarter');
    expect(published[0]?.headers['ce_type']).toBe('rollcall.rejects.created');
    clock.advance(TEN_MINUTES_MS);
    district.patch('absence-versions', id, { fromTime });
    await mirror.delta();
    expect(await rejects(mirror)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
    const [, cleared, ...more] = await mirror.since(before);
    expect(cleared).toMatchObject({ key: `absence-versions|${id}`, value: null });
    // The row again has the content that the topic has had all along.
    expect(more).toEqual([]);
  });

  it('is not removed even where the hub cannot be asked for it', async () => {
    await using mirror = await openMirror({
      collections: ['absence-versions'],
      hubOptions: { faults: ['ignore-filter', 'no-total'] },
    });
    const { district } = mirror.hub;
    // The row is not among the first, because a hub without filters answers with those.
    const [id = ''] = district.ids('absence-versions').slice(50);
    await mirror.full();
    const before = await mirror.ends();
    district.patch('absence-versions', id, { toTime: 'never' });
    for (let sync = 1; sync <= 3; sync += 1) await mirror.full();
    expect((await mirror.since(before)).map(({ key }) => key)).toEqual([`absence-versions|${id}`]);
  });

  it.each([
    ['a malformed reference', { replacedBy: 'not a reference' }],
    ['an end that is not a time', { toTime: '2026-13-45T99:00:00Z' }],
    ['a deletion time that is not a time', { deletedTime: 'yesterday' }],
    ['no start', { fromTime: null }],
  ])('an absence with %s is rejected as a whole', async (_, fields) => {
    await using mirror = await openMirror({ collections: ['absence-versions'] });
    const { district } = mirror.hub;
    const [id = ''] = district.ids('absence-versions');
    district.patch('absence-versions', id, fields);
    await mirror.full();
    expect((await rejects(mirror)).map(([key]) => key)).toEqual([`absence-versions|${id}`]);
    expect(await differencesWithout(mirror, 'absence-versions', new Set([id]))).toEqual([]);
  });

  it('an absence with an empty deletedTime is not deleted', async () => {
    await using mirror = await openMirror({ collections: ['absence-versions'] });
    const { district } = mirror.hub;
    const [id = ''] = district.ids('absence-versions');
    district.patch('absence-versions', id, { deletedTime: '' });
    await mirror.full();
    expect(await rejects(mirror)).toEqual([]);
    expect((await mirror.view('absence-versions')).get(id)?.value).toMatchObject({ deletedTime: null });
  });

  it('without an id is kept as a reject, prevents removals, and its reject is cleared once it can be read', async () => {
    await using mirror = await openMirror({ collections: ['courses'] });
    const { district, clock } = mirror.hub;
    const [id = '', gone = ''] = district.ids('courses');
    await mirror.full();
    const before = await mirror.ends();
    clock.advance(TEN_MINUTES_MS);
    district.patch('courses', id, { sourcedId: 17 });
    district.remove('courses', gone);
    await mirror.full();
    await mirror.full();
    // The row with a number as its id might be either of the two.
    const published = await mirror.since(before);
    expect(published).toHaveLength(1);
    expect(published[0]?.key).toMatch(/^courses\|sha256:[0-9a-f]{64}$/);
    expect(published[0]?.value).toMatchObject({ collection: 'courses', sourcedId: null });
    const still = await mirror.ends();
    clock.advance(TEN_MINUTES_MS);
    district.restamp();
    await mirror.full();
    expect(await mirror.ends()).toEqual(still);
    district.put('courses', { ...district.get('courses', id), sourcedId: id }, { id });
    await mirror.full();
    expect(await rejects(mirror)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
    const afterwards = (await mirror.since(still)).map(({ topic, key, value }) => [topic, key, value]);
    expect(new Set(afterwards)).toEqual(
      new Set([
        [mirror.topic('rejects'), published[0]?.key, null],
        [mirror.topic('courses'), gone, null],
      ]),
    );
  });

  it('that leaves the hub has its reject removed', async () => {
    await using mirror = await openMirror({ collections: ['absence-versions'] });
    const { district } = mirror.hub;
    const [id = ''] = district.ids('absence-versions');
    district.put('absence-versions', { sourcedId: 'bad', fromTime: 'soon' });
    await mirror.full();
    expect((await rejects(mirror)).map(([key]) => key)).toEqual(['absence-versions|bad']);
    district.remove('absence-versions', 'bad');
    await mirror.full();
    expect(await rejects(mirror)).toEqual([]);
    expect((await mirror.view('absence-versions')).has(id)).toBe(true);
    expect(await mirror.differences()).toEqual({});
  });

  it('that leaves the hub has its reject and its earlier record removed', async () => {
    await using mirror = await openMirror({ collections: ['absence-versions'] });
    const { district, clock } = mirror.hub;
    const [id = ''] = district.ids('absence-versions');
    await mirror.full();
    clock.advance(TEN_MINUTES_MS);
    district.patch('absence-versions', id, { toTime: 'never' });
    await mirror.delta();
    district.remove('absence-versions', id);
    await mirror.full();
    expect(await rejects(mirror)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
  });

  it('has | and % of its id percent-encoded in the key of its reject', async () => {
    await using mirror = await openMirror({ collections: ['absence-versions'] });
    const { district } = mirror.hub;
    district.put('absence-versions', { sourcedId: 'a|b%c', fromTime: 'soon' });
    await mirror.full();
    const before = await mirror.ends();
    expect((await rejects(mirror)).map(([key]) => key)).toEqual(['absence-versions|a%7Cb%25c']);
    await mirror.restart();
    await mirror.full();
    const markers = await mirror.since(before);
    expect(markers).toEqual([]);
    district.remove('absence-versions', 'a|b%c');
    await mirror.full();
    expect(await rejects(mirror)).toEqual([]);
  });

  it('is rejected without dropped or pseudonymised values', async () => {
    await using mirror = await openMirror({
      collections: only({ 'absence-versions': { drop: ['x-note'], pseudonymise: ['student'] } }),
      settings: { pseudonymise: { key: 'a key of at least thirty-two characters, surely' } },
    });
    const { district } = mirror.hub;
    const [row] = district.snapshot('absence-versions');
    const student = row?.['student'] as { sourcedId: string };
    district.put('absence-versions', {
      ...row,
      sourcedId: 'bad',
      fromTime: 'soon',
      'x-note': 'flu',
      student,
    });
    await mirror.full('absence-versions');
    const [[, value] = []] = await rejects(mirror);
    expect(value?.['row']).toContain('soon');
    expect(value?.['row']).not.toContain('flu');
    expect(value?.['row']).not.toContain(student.sourcedId);
  });

  it('is rejected while the other rows stay as they are, where each tenth row is malformed', async () => {
    const hub = await startTestHub({ students: 80 });
    try {
      await using mirror = await openMirror({ hub, collections: ['absence-versions', 'users'] });
      await mirror.full();
      const before = await mirror.ends();
      hub.faults.set('malformed-rows=0.1');
      await mirror.full();
      await mirror.full();
      const published = await mirror.since(before);
      expect(published.length).toBeGreaterThan(5);
      expect(new Set(published.map(({ topic }) => topic))).toEqual(new Set([mirror.topic('rejects')]));
      expect(new Set(published.map(({ key }) => key)).size).toBe(published.length);
      hub.faults.clear();
      await mirror.full();
      expect(await rejects(mirror)).toEqual([]);
      expect(await mirror.differences()).toEqual({});
    } finally {
      await hub.stop();
    }
  });
});
