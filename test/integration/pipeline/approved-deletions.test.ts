import { expect, it } from 'vitest';
import { approve, approveDigest, waitingIn, waitingKeys } from '../support/decide-deletes.ts';
import { openMirror } from '../support/mirror.ts';

const rowsOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => `row-${from + at}`);

it('an approval releases what is listed and still missing, of that list alone, and is kept with its reason', async () => {
  await using mirror = await openMirror({ collections: ['categories', 'orgs'] });
  const { district, faults } = mirror.hub;
  const come = (ids: readonly string[]): void => {
    for (const sourcedId of ids) district.put('categories', { sourcedId, title: sourcedId });
  };
  const leave = (ids: readonly string[]): void => {
    for (const id of ids) district.remove('categories', id);
  };
  const removed = async (suffix: string): Promise<string[]> =>
    (await mirror.records(suffix)).flatMap(({ key, value }) => (value === null ? [key] : [])).sort();
  leave(district.ids('categories'));
  come(rowsOf(0, 100));
  for (let at = 0; at < 20; at += 1)
    district.put('orgs', { sourcedId: `org-${at}`, name: `Organisation ${at}` });
  await mirror.full();

  // Rows of other collections wait because of those that are held.
  leave(rowsOf(0, 60));
  await mirror.full('categories');
  const { digest: earlier } = await waitingIn(mirror);
  district.remove('orgs', 'org-1');
  await mirror.full('orgs');
  expect(await waitingIn(mirror)).toMatchObject({
    rows: 61,
    collections: [
      { collection: 'orgs', isHeld: false, keys: ['org-1'] },
      { collection: 'categories', isHeld: true, count: 60 },
    ],
  });
  expect(await approveDigest(mirror, earlier ?? '')).toMatchObject({ isSame: false, rows: 61, waiting: 61 });
  for (const [fault, outcome] of [
    ['missing-list', 'inconclusive'],
    ['not-offered', 'failed'],
  ] as const) {
    faults.set(fault);
    expect((await approve(mirror)).get('categories')).toMatchObject({ outcome, removed: 0 });
    faults.clear();
  }
  expect(await waitingKeys(mirror, 'categories')).toHaveLength(60);
  expect([...(await removed('categories')), ...(await removed('orgs'))]).toEqual([]);

  // Some rows are back, and some leave only now: they were never listed.
  come(rowsOf(0, 4));
  leave(rowsOf(60, 62));
  const { digest } = await waitingIn(mirror);
  const outcomes = await approve(mirror);
  expect(outcomes.get('categories')).toMatchObject({ outcome: 'done', listed: 60, removed: 56, back: 4 });
  expect(await removed('categories')).toEqual(rowsOf(4, 60).sort());
  expect(await removed('orgs')).toEqual(['org-1']);
  expect(await waitingIn(mirror)).toMatchObject({ rows: 0, digest: null });
  const line = mirror.logLines.find((each) => each.includes('a person approved'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({ digest, by: 'a person' });
  await mirror.restart();
  const { deletions } = mirror.session.runners.get('categories')?.progress ?? {};
  const person = { digest, by: 'a person', from: 'a host', reason: 'a test' };
  expect(deletions?.approval).toMatchObject({ ...person, listed: 60, removed: 56 });

  // What was approved does not count towards the limit of the day.
  leave(rowsOf(62, 70));
  expect((await mirror.full('categories')).get('categories')).toMatchObject({ withheld: 0 });
  expect(await mirror.differences()).toEqual({});
});
