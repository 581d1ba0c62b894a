import { describe, expect, it } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';

type Row = ReturnType<Mirror['hub']['district']['snapshot']>[number];

const rowsOf = (count: number, prefix: string): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    sourcedId: `${prefix}-${String(at).padStart(4, '0')}`,
    title: `Row ${at}`,
  }));

function fill(mirror: Mirror, collection: string, rows: readonly Row[]): void {
  const { district } = mirror.hub;
  for (const id of district.ids(collection)) district.remove(collection, id);
  for (const row of rows) district.put(collection, row);
}

/** Replaces the rows of a hub by another tenant's; returns a function that puts them back. */
function become(mirror: Mirror, collections: readonly string[], prefix: string): () => void {
  const { district } = mirror.hub;
  const before = new Map(collections.map((each) => [each, [...district.snapshot(each)]]));
  for (const [collection, rows] of before) {
    fill(
      mirror,
      collection,
      rows.map((row) => Object.assign({}, row, { sourcedId: `${prefix}-${idOf(row)}` })),
    );
  }
  return () => {
    for (const [collection, rows] of before) fill(mirror, collection, rows);
  };
}

/** Answers incremental syncs with another tenant's rows, and everything else correctly. */
async function codes(
  mirror: Mirror,
  mode: 'FULL' | 'INCREMENTAL',
  ...collections: CollectionName[]
): Promise<string[]> {
  const outcomes = await mirror.attempt(mode, ...collections);
  return outcomes.map(
    ({ result, error }) => (error as { code?: string } | null)?.code ?? result?.kind ?? '?',
  );
}

/** Loads two collections of that many rows. */
async function loaded(sizes: { categories: number; courses: number }): Promise<Mirror> {
  const mirror = await openMirror({ collections: ['categories', 'courses'] });
  fill(mirror, 'categories', rowsOf(sizes.categories, 'category'));
  fill(mirror, 'courses', rowsOf(sizes.courses, 'course'));
  await mirror.full();
  await mirror.delta();
  return mirror;
}

describe('another tenant’s data by mistake', () => {
  it.each([5, 40, 3_000])(
    'in collections of %d rows changes no topic, by full or incremental sync',
    async (rows) => {
      await using mirror = await loaded({ categories: rows, courses: 8 });
      const before = await mirror.ends();
      const back = become(mirror, ['categories', 'courses'], 'other');
      expect(await codes(mirror, 'INCREMENTAL')).toEqual(['HUB_FOREIGN_DATA', 'HUB_FOREIGN_DATA']);
      expect(await codes(mirror, 'FULL')).toEqual(['HUB_FOREIGN_DATA', 'HUB_FOREIGN_DATA']);
      expect(await mirror.ends()).toEqual(before);
      back();
      await mirror.attempt('FULL');
      await mirror.full();
      expect(await mirror.ends()).toEqual(before);
      expect(await mirror.differences()).toEqual({});
    },
  );

  it.each([0, 1, 4])('in a collection of %d rows is recognised by the rows of the others', async (rows) => {
    await using mirror = await loaded({ categories: rows, courses: 8 });
    const before = await mirror.ends();
    const back = become(mirror, ['categories', 'courses'], 'other');
    fill(mirror, 'categories', rowsOf(rows + 1, 'other'));
    expect(await codes(mirror, 'INCREMENTAL', 'categories')).toEqual(['HUB_FOREIGN_DATA']);
    expect(await codes(mirror, 'FULL', 'categories')).toEqual(['HUB_FOREIGN_DATA']);
    expect(await mirror.ends()).toEqual(before);
    back();
    fill(mirror, 'categories', rowsOf(rows, 'category'));
    await mirror.attempt('FULL');
    expect(await mirror.ends()).toEqual(before);
  });

  it('in an incremental sync of a few rows is not published', async () => {
    await using mirror = await loaded({ categories: 200, courses: 8 });
    const before = await mirror.ends();
    become(mirror, ['categories', 'courses'], 'other');
    mirror.hub.clock.advance(3 * 3_600_000);
    mirror.hub.district.put('categories', { sourcedId: 'other-new', title: 'New at the other tenant' });
    expect(await codes(mirror, 'INCREMENTAL', 'categories')).toEqual(['HUB_FOREIGN_DATA']);
    expect(await mirror.ends()).toEqual(before);
  });

  it('that begins during a full sync stops that sync', async () => {
    let onPage: () => void = () => undefined;
    await using mirror = await openMirror({
      collections: ['categories'],
      hubSettings: { pageSize: 50 },
      parts: ({ emit }) => ({
        emit: (event) => {
          if (event.type === 'sync-page') onPage();
          emit(event);
        },
      }),
    });
    fill(mirror, 'categories', rowsOf(1_000, 'b'));
    await mirror.full();
    const before = await mirror.ends();
    let pages = 0;
    onPage = () => {
      pages += 1;
      if (pages === 8) fill(mirror, 'categories', rowsOf(1_000, 'c'));
    };
    expect(await codes(mirror, 'FULL')).toEqual(['HUB_FOREIGN_DATA']);
    // Of 20: the pages that were requested before their turn are still this tenant's.
    expect(pages).toBeLessThan(16);
    expect(await mirror.ends()).toEqual(before);
  });

  it('stops every collection of which the hub shows no known row, across restarts, until known rows are back', async () => {
    await using mirror = await loaded({ categories: 40, courses: 40 });
    const back = become(mirror, ['categories', 'courses'], 'other');
    expect(await codes(mirror, 'FULL', 'categories')).toEqual(['HUB_FOREIGN_DATA']);
    const before = await mirror.ends();
    expect(await codes(mirror, 'FULL', 'courses')).toEqual(['HUB_FOREIGN_DATA']);
    await mirror.restart();
    expect(await codes(mirror, 'INCREMENTAL', 'courses')).toEqual(['HUB_FOREIGN_DATA']);
    expect(await mirror.ends()).toEqual(before);
    back();
    // An incremental sync alone would not show it.
    expect(await codes(mirror, 'INCREMENTAL', 'categories')).toEqual(['complete']);
    expect(await codes(mirror, 'FULL', 'courses')).toEqual(['complete']);
    expect(await mirror.differences()).toEqual({});
  });

  it('in one collection stops nothing of the others', async () => {
    await using mirror = await loaded({ categories: 40, courses: 40 });
    const { district } = mirror.hub;
    const back = become(mirror, ['categories'], 'other');
    expect(await codes(mirror, 'FULL', 'categories')).toEqual(['HUB_FOREIGN_DATA']);
    district.patch('courses', 'course-0001', { title: 'Changed' });
    district.remove('courses', 'course-0002');
    expect(await codes(mirror, 'FULL', 'courses')).toEqual(['complete']);
    await mirror.restart();
    district.patch('courses', 'course-0003', { title: 'Changed too' });
    expect(await codes(mirror, 'INCREMENTAL', 'courses')).toEqual(['complete']);
    const view = await mirror.view('courses');
    expect(view.get('course-0001')?.value).toMatchObject({ title: 'Changed' });
    expect(view.get('course-0003')?.value).toMatchObject({ title: 'Changed too' });
    expect(view.has('course-0002')).toBe(false);
    back();
    expect(await codes(mirror, 'FULL', 'categories')).toEqual(['complete']);
    expect(await codes(mirror, 'FULL', 'courses')).toEqual(['complete']);
    expect(await mirror.differences()).toEqual({});
  });

  it('is published when a person accepts it, and the removal of the old rows is withheld', async () => {
    await using mirror = await loaded({ categories: 40, courses: 40 });
    become(mirror, ['categories', 'courses'], 'other');
    await mirror.attempt('FULL');
    const { signal } = new AbortController();
    for (const runner of mirror.session.runners.values())
      expect(await runner.once('FULL', { signal, acceptNew: true })).toMatchObject({
        kind: 'complete',
        withheld: 40,
      });
    expect((await mirror.view('categories')).has('other-category-0001')).toBe(true);
    expect((await mirror.view('categories')).has('category-0001')).toBe(true);
  });
});

describe('new rows of this tenant', () => {
  it.each([
    ['one new row', 1],
    ['as many new rows as are known', 60],
  ])('%s: an incremental sync without any known row is published', async (_name, count) => {
    await using mirror = await loaded({ categories: 60, courses: 8 });
    for (const row of rowsOf(count, 'new')) mirror.hub.district.put('categories', row);
    expect(await codes(mirror, 'INCREMENTAL', 'categories')).toEqual(['complete']);
    expect(await mirror.differences()).toEqual({});
  });

  it('need no full sync after an incremental one while most of the collection is withheld', async () => {
    await using mirror = await loaded({ categories: 60, courses: 8 });
    for (const row of rowsOf(57, 'category')) mirror.hub.district.remove('categories', idOf(row));
    await mirror.full('categories');
    mirror.hub.district.put('categories', { sourcedId: 'zz-new', title: 'New' });
    const before = mirror.events.length;
    expect(await codes(mirror, 'INCREMENTAL', 'categories')).toEqual(['complete']);
    const begun = mirror.events.slice(before).filter(({ type }) => type === 'sync-started');
    expect(begun).toMatchObject([{ mode: 'INCREMENTAL' }]);
    expect((await mirror.view('categories')).has('zz-new')).toBe(true);
  });

  it('are published although the hub cannot be asked for single rows', async () => {
    await using mirror = await loaded({ categories: 60, courses: 8 });
    mirror.hub.faults.set('one-clause');
    mirror.hub.district.put('categories', { sourcedId: 'zz-new', title: 'New' });
    expect(await codes(mirror, 'INCREMENTAL', 'categories')).toEqual(['complete']);
    expect(await mirror.differences()).toEqual({});
  });
});

describe('a nested collection', () => {
  it.each(['FULL', 'INCREMENTAL'] as const)('with another tenant’s rows is stopped (%s)', async (mode) => {
    const hub = await startTestHub({ size: { studentsPerSchool: 15 } });
    try {
      const [one = '', two = ''] = hub.district.afterschoolIds();
      await using mirror = await openMirror({
        hub,
        collections: ['afterschool-users'],
        afterschools: [one, two],
      });
      await mirror.full();
      const known = (await mirror.view('afterschool-users')).size;
      expect(known).toBeGreaterThan(5);
      const before = await mirror.ends();
      for (const programme of [one, two]) {
        const members = hub.district.snapshot(`afterschool-users/${programme}`).map(idOf);
        for (const id of members) hub.district.leaveAfterschool(programme, id);
        for (const id of members) {
          hub.district.put('users', { sourcedId: `other-${id}`, givenName: 'Other' });
          hub.district.joinAfterschool(programme, `other-${id}`);
        }
      }
      expect(await codes(mirror, mode)).toEqual(['HUB_FOREIGN_DATA']);
      expect(await mirror.ends()).toEqual(before);
    } finally {
      await hub.stop();
    }
  });
});
