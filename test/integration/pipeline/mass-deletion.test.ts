import { expect, it } from 'vitest';
import { openMirror, type Mirror } from '../support/mirror.ts';

const COLLECTIONS = ['categories', 'orgs'] as const;
const HALF_AN_HOUR_MS = 1_800_000;

function put(mirror: Mirror, collection: string, numbers: readonly number[]): void {
  for (const number of numbers)
    mirror.hub.district.put(collection, { sourcedId: `row-${number}`, title: `Row ${number}` });
}

async function rowsOnHold(mirror: Mirror): Promise<(number | undefined)[]> {
  const results = await mirror.full();
  return COLLECTIONS.map((name) => results.get(name)?.rowsOnHold);
}

async function tombstones(mirror: Mirror, collection: string): Promise<string[]> {
  return (await mirror.records(collection)).filter(({ value }) => value === null).map(({ key }) => key);
}

/** Ten categories and seven orgs, of which eight and one have left. */
async function mirrorOnHold(): Promise<Mirror> {
  const mirror = await openMirror({ collections: COLLECTIONS });
  const { district } = mirror.hub;
  for (const id of district.ids('categories')) district.remove('categories', id);
  put(mirror, 'categories', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  put(mirror, 'orgs', [1, 2, 3, 4, 5, 6, 7]);
  await mirror.full();
  for (const number of [0, 1, 2, 3, 4, 5, 6, 7]) district.remove('categories', `row-${number}`);
  await mirror.full('categories');
  return mirror;
}

it('a mass deletion puts all removals of the tenant on hold, and nothing else, until all rows are back', async () => {
  await using mirror = await mirrorOnHold();
  const { district } = mirror.hub;
  district.remove('orgs', 'row-1');
  district.patch('orgs', 'row-2', { name: 'Two' });
  const before = await mirror.ends();
  expect([await rowsOnHold(mirror), await rowsOnHold(mirror)]).toEqual([
    [8, 1],
    [8, 1],
  ]);
  expect((await mirror.since(before)).map(({ key, value }) => [key, value?.['name']])).toEqual([
    ['row-2', 'Two'],
  ]);
  const progress = (await mirror.view('progress')).get('categories')?.value;
  const full = { rows: 2, rowsNotFound: 8, rowsOnHold: 8 };
  expect(progress).toMatchObject({ rowsOnHold: 8, lastCompleteFull: full });
  await mirror.restart();
  expect(await rowsOnHold(mirror)).toEqual([8, 1]);
  put(mirror, 'categories', [1, 2, 3, 4, 5, 6, 7]);
  for (const sync of [1, 2, 3]) expect([sync, ...(await rowsOnHold(mirror))]).toEqual([sync, 1, 1]);
  put(mirror, 'categories', [0]);
  // The removal that waited only because of the others is published by the same pull.
  expect(await rowsOnHold(mirror)).toEqual([0, 0]);
  expect([await tombstones(mirror, 'categories'), await tombstones(mirror, 'orgs')]).toEqual([[], ['row-1']]);
  expect(await mirror.differences()).toEqual({});
});

it('a full sync with fewer rows than the hub counts removes no row, and counts no row as missing', async () => {
  await using mirror = await openMirror({ collections: ['results'], hubSettings: { pageSize: 50 } });
  const { district, faults, clock } = mirror.hub;
  const full = async () => (await mirror.full('results')).get('results');
  const progress = () => mirror.session.runners.get('results')?.progress;
  const ids = district.ids('results');
  faults.set('skip-rows');
  const total = ids.length;
  expect(await full()).toMatchObject({ kind: 'inconclusive', short: { total } });
  expect(progress()).toMatchObject({ complete: false, watermarkMs: null, lastCompleteFull: null });
  expect(mirror.statusText()).toMatch(new RegExp(`results: .* \\d+ of ${total} rows came`));
  faults.clear();
  faults.set('skip-rows', { times: 1 });
  // The confirming sync reads everything.
  expect(await full()).toMatchObject({ kind: 'complete', short: null });
  expect(await mirror.differences()).toEqual({});

  const earlier = progress();
  clock.advance(HALF_AN_HOUR_MS);
  // An answer without a list is no shorter list: it proves nothing.
  faults.set('missing-list');
  expect(await full()).toMatchObject({ kind: 'inconclusive', stats: { rowsRemoved: 0 } });
  expect(progress()).toMatchObject({ complete: false, watermarkMs: earlier?.watermarkMs });
  faults.clear();
  district.remove('results', ids[3] ?? '');
  faults.set('skip-rows');
  const before = await mirror.ends();
  for (const night of [1, 2, 3])
    expect([night, await full()]).toMatchObject([
      night,
      { kind: 'complete', short: { total: total - 1 }, stats: { rowsRemoved: 0 } },
    ]);
  expect((await mirror.parts.state.deletions.missing('results'))?.keys).toEqual(new Map());
  expect(await mirror.ends()).toEqual(before);
  expect(progress()?.watermarkMs).toBeGreaterThan(earlier?.watermarkMs ?? Infinity);
  expect(mirror.statusText()).toMatch(/results: removals wait, because the hub shows \d+ of the \d+ rows/);

  faults.clear();
  clock.advance(HALF_AN_HOUR_MS);
  for (const id of ids.slice(10, 80)) district.patch('results', id, { comment: 'changed' });
  faults.set('skip-rows', { times: 1 });
  const syncs = mirror.events.length;
  await mirror.incremental('results');
  const modes = mirror.events.slice(syncs).flatMap((each) => (each.type === 'sync-started' ? each.mode : []));
  expect(modes).toEqual(['INCREMENTAL', 'FULL', 'FULL']);
  expect(mirror.statusText()).not.toContain('removals wait');
});
