import { describe, expect, it } from 'vitest';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';

type Row = ReturnType<Mirror['hub']['district']['snapshot']>[number];

/** Removes rows from the hub and returns them. */
function takeAway(mirror: Mirror, collection: string, ids: readonly string[]): Row[] {
  const { district } = mirror.hub;
  const rows = district.snapshot(collection).filter((row) => ids.includes(idOf(row)));
  for (const id of ids) district.remove(collection, id);
  return rows;
}

function putBack(mirror: Mirror, collection: string, rows: readonly Row[]): void {
  for (const row of rows) mirror.hub.district.put(collection, row);
}

/** How many removals a full sync of one collection withheld. */
async function withheld(mirror: Mirror, collection: 'categories' | 'orgs'): Promise<number> {
  const result = (await mirror.full(collection)).get(collection);
  if (result?.kind !== 'complete') throw new Error(`the sync was ${result?.kind}`);
  return result.withheld;
}

async function tombstones(mirror: Mirror, suffix: string): Promise<string[]> {
  return (await mirror.records(suffix)).filter(({ value }) => value === null).map(({ key }) => key);
}

const rowsOf = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ sourcedId: `row-${index}`, title: `Row ${index}` }));

/** A loaded mirror with one collection of exactly that many rows. */
async function loaded(count: number, settings: Record<string, unknown> = {}): Promise<Mirror> {
  const mirror = await openMirror({ collections: ['categories', 'orgs'], settings });
  const { district } = mirror.hub;
  for (const id of district.ids('categories')) district.remove('categories', id);
  putBack(mirror, 'categories', rowsOf(count));
  await mirror.full();
  return mirror;
}

describe('a mass deletion is withheld', () => {
  it.each([
    { rows: 400, deleted: 51, why: 'more than 50 rows and more than 5 %' },
    { rows: 10, deleted: 5, why: 'half' },
    { rows: 5, deleted: 3, why: 'half or more of five' },
  ])('$deleted of $rows ($why)', async ({ rows, deleted }) => {
    await using mirror = await loaded(rows);
    const before = await mirror.ends();
    takeAway(mirror, 'categories', rowsOf(deleted).map(idOf));
    for (const sync of [1, 2, 3]) {
      const results = await mirror.full('categories');
      expect([sync, results.get('categories')]).toMatchObject([
        sync,
        { kind: 'complete', withheld: deleted },
      ]);
    }
    expect(await mirror.ends()).toEqual(before);
    const progress = (await mirror.view('progress')).get('categories')?.value;
    expect(progress).toMatchObject({ rowsWithheld: deleted, lastCompleteFull: { rowsWithheld: deleted } });
  });

  it.each([
    { rows: 400, deleted: 50, why: 'not more than 50 rows' },
    { rows: 1200, deleted: 60, why: 'not more than 5 %' },
    { rows: 11, deleted: 5, why: 'fewer than half' },
    { rows: 4, deleted: 3, why: 'fewer than five are there' },
  ])('but not $deleted of $rows ($why)', async ({ rows, deleted }) => {
    await using mirror = await loaded(rows);
    takeAway(mirror, 'categories', rowsOf(deleted).map(idOf));
    expect(await withheld(mirror, 'categories')).toBe(0);
    expect(await mirror.differences('categories')).toEqual({});
    expect((await tombstones(mirror, 'categories')).length).toBe(deleted);
  });

  it('when all known rows are gone, however few, and others have come instead', async () => {
    await using mirror = await loaded(2);
    takeAway(mirror, 'categories', ['row-0', 'row-1']);
    putBack(mirror, 'categories', [{ sourcedId: 'other', title: 'Other' }]);
    expect((await mirror.full('categories')).get('categories')).toMatchObject({ withheld: 2 });
    expect(await tombstones(mirror, 'categories')).toEqual([]);
    expect((await mirror.view('categories')).has('other')).toBe(true);
  });

  it('also in several parts, because earlier removals of the day count', async () => {
    await using mirror = await loaded(100);
    const ids = rowsOf(60).map(idOf);
    takeAway(mirror, 'categories', ids.slice(0, 30));
    expect(await withheld(mirror, 'categories')).toBe(0);
    takeAway(mirror, 'categories', ids.slice(30, 60));
    expect(await withheld(mirror, 'categories')).toBe(30);
    mirror.hub.district.put('orgs', { sourcedId: 'org-1', name: 'One' });
    await mirror.full('orgs');
    mirror.hub.district.remove('orgs', 'org-1');
    expect(await withheld(mirror, 'orgs')).toBe(1);
    expect((await tombstones(mirror, 'categories')).length).toBe(30);
  });

  it('together with every other removal of the tenant, but no other change', async () => {
    await using mirror = await loaded(10);
    const { district } = mirror.hub;
    district.put('orgs', { sourcedId: 'org-1', name: 'One' });
    for (const index of [2, 3, 4, 5, 6])
      district.put('orgs', { sourcedId: `org-${index}`, name: `${index}` });
    await mirror.full();
    takeAway(mirror, 'categories', rowsOf(8).map(idOf));
    await mirror.full('categories');
    district.remove('orgs', 'org-1');
    district.patch('orgs', 'org-2', { name: 'Two' });
    district.put('orgs', { sourcedId: 'org-7', name: 'Seven' });
    const results = await mirror.full('orgs');
    expect(results.get('orgs')).toMatchObject({ kind: 'complete', withheld: 1 });
    const view = await mirror.view('orgs');
    expect([view.has('org-1'), view.get('org-2')?.value?.['name'], view.has('org-7')]).toEqual([
      true,
      'Two',
      true,
    ]);
  });

  it('across a restart, until the rows come back', async () => {
    await using mirror = await loaded(10);
    const { district } = mirror.hub;
    for (const index of [1, 2, 3, 4, 5, 6])
      district.put('orgs', { sourcedId: `org-${index}`, name: `${index}` });
    await mirror.full();
    const rows = takeAway(mirror, 'categories', rowsOf(8).map(idOf));
    await mirror.full('categories');
    district.remove('orgs', 'org-1');
    await mirror.full('orgs');
    const before = await mirror.since({});
    await mirror.restart();
    expect([await withheld(mirror, 'categories'), await withheld(mirror, 'orgs')]).toEqual([8, 1]);
    expect(await mirror.since({})).toEqual(before);
    putBack(mirror, 'categories', rows);
    expect(await withheld(mirror, 'categories')).toBe(0);
    expect(await withheld(mirror, 'orgs')).toBe(0);
    expect(await tombstones(mirror, 'categories')).toEqual([]);
    expect(await tombstones(mirror, 'orgs')).toEqual(['org-1']);
    expect(await mirror.differences()).toEqual({});
  });

  it('until all rows are back: a hub that recovers step by step causes no removal of the rest', async () => {
    await using mirror = await loaded(10);
    const { district } = mirror.hub;
    for (const index of [1, 2, 3, 4, 5, 6])
      district.put('orgs', { sourcedId: `org-${index}`, name: `${index}` });
    await mirror.full();
    const [first, ...others] = takeAway(mirror, 'categories', rowsOf(8).map(idOf));
    await mirror.full('categories');
    district.remove('orgs', 'org-1');
    await mirror.full('orgs');
    putBack(mirror, 'categories', others);
    for (let sync = 1; sync <= 3; sync += 1) {
      await mirror.full('categories');
      await mirror.full('orgs');
    }
    expect([await withheld(mirror, 'categories'), await withheld(mirror, 'orgs')]).toEqual([1, 1]);
    expect(await tombstones(mirror, 'categories')).toEqual([]);
    putBack(mirror, 'categories', first === undefined ? [] : [first]);
    await mirror.full('categories');
    await mirror.full('orgs');
    // The removal that waited only because of the others is published now.
    expect(await tombstones(mirror, 'orgs')).toEqual(['org-1']);
    expect(await mirror.differences()).toEqual({});
  });

  it('also where the hub gives no total and two full syncs are needed', async () => {
    await using mirror = await loaded(10);
    mirror.hub.faults.set('no-total');
    takeAway(mirror, 'categories', rowsOf(6).map(idOf));
    await mirror.full('categories');
    expect(await withheld(mirror, 'categories')).toBe(6);
    expect(await tombstones(mirror, 'categories')).toEqual([]);
  });
});

describe('an interrupted full sync', () => {
  it('removes no row, and neither do the incremental syncs after it', async () => {
    let onPage: () => void = () => undefined;
    await using mirror = await openMirror({
      collections: ['categories'],
      hubSettings: { pageSize: 20 },
      parts: ({ emit }) => ({
        emit: (event) => {
          if (event.type === 'sync-page') onPage();
          emit(event);
        },
      }),
    });
    putBack(mirror, 'categories', rowsOf(200));
    await mirror.full();
    // Otherwise an incremental sync would return all of them as new, and become a full sync.
    mirror.hub.clock.advance(3 * 3_600_000);
    await mirror.full();
    const before = await mirror.ends();
    takeAway(mirror, 'categories', ['row-3', 'row-150']);
    onPage = () => mirror.hub.faults.set('not-offered');
    const [failed] = await mirror.attempt('FULL');
    expect(failed?.error).toMatchObject({ code: 'HUB_NOT_OFFERED' });
    onPage = () => undefined;
    mirror.hub.faults.clear();
    await mirror.delta();
    await mirror.restart();
    await mirror.delta();
    expect(await mirror.ends()).toEqual(before);
    await mirror.full();
    expect((await tombstones(mirror, 'categories')).toSorted()).toEqual(['row-150', 'row-3']);
  });
});

describe('another tenant’s data by mistake', () => {
  it('causes no removal', async () => {
    const other = await startTestHub({ seed: 99 });
    try {
      await using mirror = await openMirror({ collections: ['users', 'results'] });
      await mirror.full();
      for (const collection of ['users', 'results']) {
        const { district } = mirror.hub;
        for (const id of district.ids(collection)) district.remove(collection, id);
        for (const row of other.district.snapshot(collection)) district.put(collection, row);
      }
      await mirror.attempt('FULL');
      expect(await tombstones(mirror, 'users')).toEqual([]);
      expect(await tombstones(mirror, 'results')).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});
