import { expect, it } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { openMirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';

const BOTH: readonly CollectionName[] = ['categories', 'courses'];
const FOREIGN = ['HUB_FOREIGN_DATA', 'HUB_FOREIGN_DATA'];

it('another tenant’s data changes no topic until known rows are back or a person accepts it', async () => {
  await using mirror = await openMirror({ collections: BOTH });
  const { district } = mirror.hub;
  type Row = ReturnType<typeof district.snapshot>[number];
  const fill = (collection: string, rows: readonly Row[]): void => {
    for (const id of district.ids(collection)) district.remove(collection, id);
    for (const row of rows) district.put(collection, row);
  };
  /** Replaces the rows of the hub by another tenant's; returns a function that puts them back. */
  const become = (...collections: readonly string[]): (() => void) => {
    const before = collections.map((each) => [each, [...district.snapshot(each)]] as const);
    for (const [each, rows] of before)
      fill(
        each,
        rows.map((row) => Object.assign({}, row, { sourcedId: `other-${idOf(row)}` })),
      );
    return () => {
      for (const [each, rows] of before) fill(each, rows);
    };
  };
  const codes = async (mode: 'FULL' | 'INCREMENTAL', ...collections: CollectionName[]) =>
    (await mirror.attempt(mode, ...collections)).map(
      ({ result, error }) => (error as { code?: string } | null)?.code ?? result?.kind,
    );
  const rowsOf = (count: number): Row[] =>
    Array.from({ length: count }, (_, at) => ({ sourcedId: `row-${at}`, title: `Row ${at}` }));
  fill('categories', rowsOf(4));
  fill('courses', rowsOf(40));
  await mirror.full();
  const before = await mirror.ends();

  // A small collection is recognised by the rows of the others.
  const back = become(...BOTH);
  expect(await codes('INCREMENTAL')).toEqual(FOREIGN);
  expect(await codes('FULL')).toEqual(FOREIGN);
  await mirror.restart();
  expect(await codes('FULL')).toEqual(FOREIGN);
  expect(await mirror.ends()).toEqual(before);
  back();
  // The small collection is in doubt until the other one has shown its rows.
  await mirror.attempt('FULL');
  await mirror.full();
  expect((await mirror.incremental()).get('courses')?.stats.mode).toBe('INCREMENTAL');
  expect(await mirror.ends()).toEqual(before);
  expect(await mirror.differences()).toEqual({});

  // Another tenant's rows in one collection stop nothing of the others.
  const courses = become('courses');
  expect(await codes('FULL', 'courses')).toEqual(['HUB_FOREIGN_DATA']);
  district.patch('categories', 'row-1', { title: 'Changed' });
  expect(await codes('FULL', 'categories')).toEqual(['complete']);
  courses();
  await mirror.full('courses');
  expect(await mirror.differences()).toEqual({});

  become('courses');
  expect(await codes('FULL', 'courses')).toEqual(['HUB_FOREIGN_DATA']);
  const { signal } = new AbortController();
  const accepted = await mirror.session.runners.get('courses')?.once('FULL', { signal, acceptNew: true });
  expect(accepted).toMatchObject({ kind: 'complete', rowsOnHold: 40 });
  const view = await mirror.view('courses');
  expect([view.has('other-row-1'), view.has('row-1')]).toEqual([true, true]);
});
