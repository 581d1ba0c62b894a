import { describe, expect, it } from 'vitest';
import { approve, approveDigest, waitingIn, waitingKeys } from '../support/decide-deletes.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { idOf } from '../support/rows.ts';

type Row = ReturnType<Mirror['hub']['district']['snapshot']>[number];

const rowsOf = (count: number, prefix = 'row'): Row[] =>
  Array.from({ length: count }, (_, at) => ({ sourcedId: `${prefix}-${at}`, title: `Row ${at}` }));

function put(mirror: Mirror, collection: string, rows: readonly Row[]): void {
  for (const row of rows) mirror.hub.district.put(collection, row);
}

function takeAway(mirror: Mirror, collection: string, rows: readonly Row[]): void {
  for (const row of rows) mirror.hub.district.remove(collection, idOf(row));
}

async function loaded(count: number, settings: Record<string, unknown> = {}): Promise<Mirror> {
  const mirror = await openMirror({ collections: ['categories', 'orgs'], settings });
  const { district } = mirror.hub;
  for (const id of district.ids('categories')) district.remove('categories', id);
  put(mirror, 'categories', rowsOf(count));
  put(
    mirror,
    'orgs',
    Array.from({ length: 20 }, (_, at) => ({ sourcedId: `org-${at}`, name: `Org ${at}` })),
  );
  await mirror.full();
  return mirror;
}

async function tombstones(mirror: Mirror, suffix: string): Promise<string[]> {
  const gone = (await mirror.records(suffix)).filter(({ value }) => value === null);
  return gone.map(({ key }) => key).sort();
}

const idsOf = (rows: readonly Row[]): string[] => rows.map(idOf).sort();

describe('an approval', () => {
  it('releases each listed deletion, and none waits afterwards', async () => {
    await using mirror = await loaded(10);
    const gone = rowsOf(8);
    takeAway(mirror, 'categories', gone);
    await mirror.full('categories');
    const outcomes = await approve(mirror);
    expect(outcomes.get('categories')).toMatchObject({
      outcome: 'done',
      listed: 8,
      removed: 8,
      back: 0,
    });
    expect(await tombstones(mirror, 'categories')).toEqual(idsOf(gone));
    expect(await mirror.differences()).toEqual({});
    const progress = (await mirror.view('progress')).get('categories')?.value;
    expect(progress).toMatchObject({ rowsWithheld: 0, lastCompleteFull: { rowsWithheld: 0, rows: 2 } });
    expect((await mirror.full('categories')).get('categories')).toMatchObject({ withheld: 0 });
  });

  it('removes every listed row, and not the one that is still at the hub', async () => {
    await using mirror = await loaded(150);
    put(mirror, 'categories', [{ sourcedId: 'other', title: 'Other' }]);
    await mirror.full('categories');
    takeAway(mirror, 'categories', rowsOf(150));
    await mirror.full('categories');
    const outcomes = await approve(mirror);
    expect(outcomes.get('categories')).toMatchObject({ removed: 150 });
    expect(await mirror.differences()).toEqual({});
  });

  it('keeps rows that came back meanwhile, and rows that were never listed', async () => {
    await using mirror = await loaded(40);
    const gone = rowsOf(30);
    takeAway(mirror, 'categories', gone);
    await mirror.full('categories');
    put(mirror, 'categories', gone.slice(0, 4));
    // These rows leave only now: they were never listed, and are half of the rest.
    const late = rowsOf(40).slice(30, 37);
    takeAway(mirror, 'categories', late);
    const outcomes = await approve(mirror);
    expect(outcomes.get('categories')).toMatchObject({ listed: 30, removed: 26, back: 4 });
    expect(await tombstones(mirror, 'categories')).toEqual(idsOf(gone.slice(4)));
    expect(await waitingKeys(mirror, 'categories')).toEqual(idsOf(late));
  });

  it('of a list that has changed meanwhile releases nothing', async () => {
    await using mirror = await loaded(10);
    takeAway(mirror, 'categories', rowsOf(6));
    await mirror.full('categories');
    const { digest } = await waitingIn(mirror);
    takeAway(mirror, 'categories', rowsOf(7).slice(6));
    await mirror.full('categories');
    expect(await approveDigest(mirror, digest ?? '')).toMatchObject({ isSame: false, rows: 7, waiting: 7 });
    expect(await tombstones(mirror, 'categories')).toEqual([]);
  });

  it('releases nothing when the answer of the hub is inconclusive or an error', async () => {
    await using mirror = await loaded(10);
    takeAway(mirror, 'categories', rowsOf(8));
    await mirror.full('categories');
    mirror.hub.faults.set('missing-list');
    const outcomes = await approve(mirror);
    mirror.hub.faults.clear();
    expect(outcomes.get('categories')).toMatchObject({ outcome: 'inconclusive', removed: 0 });
    mirror.hub.faults.set('not-offered');
    const failed = await approve(mirror);
    mirror.hub.faults.clear();
    expect(failed.get('categories')).toMatchObject({ outcome: 'failed', removed: 0 });
    expect(await tombstones(mirror, 'categories')).toEqual([]);
    expect(await waitingKeys(mirror, 'categories')).toHaveLength(8);
  });

  it('does not count towards the limit of the day', async () => {
    await using mirror = await loaded(100);
    takeAway(mirror, 'categories', rowsOf(60));
    await mirror.full('categories');
    await approve(mirror);
    takeAway(mirror, 'categories', rowsOf(75).slice(60));
    expect((await mirror.full('categories')).get('categories')).toMatchObject({ withheld: 0 });
    expect(await mirror.differences()).toEqual({});
  });

  it('is one decision for one event: held rows, and those of other collections that wait because of them', async () => {
    await using mirror = await loaded(10);
    takeAway(mirror, 'categories', rowsOf(8));
    await mirror.full('categories');
    mirror.hub.district.remove('orgs', 'org-1');
    await mirror.full('orgs');
    expect(await waitingIn(mirror)).toMatchObject({
      rows: 9,
      collections: [
        { collection: 'orgs', isHeld: false, keys: ['org-1'] },
        { collection: 'categories', isHeld: true, count: 8 },
      ],
    });
    await approve(mirror);
    expect(await tombstones(mirror, 'orgs')).toEqual(['org-1']);
    expect(await mirror.differences()).toEqual({});
    expect(await waitingIn(mirror)).toMatchObject({ rows: 0, digest: null });
  });

  it('needs no second one for ordinary leavers of the same minute', async () => {
    await using mirror = await loaded(100);
    takeAway(mirror, 'categories', rowsOf(60));
    await mirror.full('categories');
    takeAway(mirror, 'categories', rowsOf(62).slice(60));
    mirror.hub.district.remove('orgs', 'org-2');
    const outcomes = await approve(mirror);
    expect(outcomes.get('categories')).toMatchObject({ removed: 60 });
    expect(await waitingIn(mirror)).toMatchObject({ rows: 0 });
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
  });

  it('is kept in the progress of the sync that removed the rows: who, from where, when and why', async () => {
    await using mirror = await loaded(10);
    takeAway(mirror, 'categories', rowsOf(8));
    await mirror.full('categories');
    const { digest } = await waitingIn(mirror);
    await approve(mirror);
    await mirror.restart();
    const progress = mirror.session.runners.get('categories')?.progress;
    expect(progress?.deletions?.approval).toMatchObject({
      digest,
      by: 'a person',
      from: 'a host',
      reason: 'a test',
      listed: 8,
      removed: 8,
    });
    const line = mirror.logLines.find((each) => each.includes('a person approved'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ collection: 'categories', digest, by: 'a person' });
  });
});

describe('an approval of class lists and absences', () => {
  it('of classes that became empty publishes them as empty', async () => {
    await using mirror = await openMirror({
      collections: only({ classes: {}, users: {}, enrollments: {}, 'class-students': {} }),
      hubOptions: { students: 40 },
    });
    await mirror.full();
    const filled = [...(await mirror.view('class-students'))].filter(
      ([, { value }]) => JSON.stringify(value?.['students']) !== '[]',
    );
    expect(filled.length).toBeGreaterThan(5);
    mirror.hub.faults.set('empty-list@class-students');
    for (let sync = 1; sync <= 2; sync += 1) await mirror.full('class-students');
    expect(await waitingKeys(mirror, 'class-students')).toEqual(filled.map(([key]) => key).sort());
    const before = await mirror.ends();
    const outcomes = await approve(mirror);
    expect(outcomes.get('class-students')).toMatchObject({ removed: filled.length, back: 0 });
    const published = await mirror.since(before);
    expect(
      new Set(published.map(({ key, value }) => `${key} ${JSON.stringify(value?.['students'])}`)),
    ).toEqual(new Set(filled.map(([key]) => `${key} []`)));
    mirror.hub.faults.clear();
    await mirror.full('class-students');
    expect(await mirror.differences('class-students')).toEqual({});
  });

  it('of versions of absences releases them, and the next full sync publishes nothing more', async () => {
    await using mirror = await openMirror({
      collections: ['absence-versions', 'absences', 'absence-changes'],
    });
    await mirror.full();
    const { district } = mirror.hub;
    const known = district.ids('absence-versions');
    const gone = known.slice(0, Math.ceil(known.length * 0.6));
    for (const id of gone) district.remove('absence-versions', id);
    for (let sync = 1; sync <= 2; sync += 1) await mirror.full();
    expect((await waitingKeys(mirror, 'absence-versions')).length).toBe(gone.length);
    const outcomes = await approve(mirror);
    expect(outcomes.get('absence-versions')).toMatchObject({ removed: gone.length });
    expect(await mirror.differences()).toEqual({});
    const before = await mirror.ends();
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
  });
});
