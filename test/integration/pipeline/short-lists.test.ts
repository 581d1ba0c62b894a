import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';

const HALF_AN_HOUR_MS = 1_800_000;

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
  expect(mirror.statusText()).toMatch(new RegExp(`results: .* \\d+ of ${total} rows were returned`));
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
