import { describe, expect, it } from 'vitest';
import { approve, waitingKeys } from '../support/decide-deletes.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';

const ids = Array.from({ length: 12 }, (_, at) => `row-${String(at).padStart(2, '0')}`);

function put(mirror: Mirror, keys: readonly string[]): void {
  for (const id of keys) mirror.hub.district.put('categories', { sourcedId: id, title: id });
}

function empty(mirror: Mirror): void {
  for (const id of mirror.hub.district.ids('categories')) mirror.hub.district.remove('categories', id);
}

async function loaded(): Promise<Mirror> {
  const mirror = await openMirror({ collections: ['categories', 'orgs'] });
  empty(mirror);
  put(mirror, ids);
  await mirror.full();
  return mirror;
}

async function sync(mirror: Mirror) {
  return (await mirror.full('categories')).get('categories');
}

async function tombstones(mirror: Mirror): Promise<string[]> {
  const gone = (await mirror.records('categories')).filter(({ value }) => value === null);
  return gone.map(({ key }) => key).sort();
}

describe('a collection that became empty', () => {
  it('misses all: it is held at once, and removed only by an approval', async () => {
    await using mirror = await loaded();
    empty(mirror);
    for (let again = 1; again <= 3; again += 1) {
      expect(await sync(mirror)).toMatchObject({ kind: 'complete', withheld: 12 });
      expect(await waitingKeys(mirror, 'categories')).toEqual(ids);
    }
    expect(await mirror.metricsText()).toContain(
      'rollcall_deletions_withheld{tenant="north",collection="categories"} 12',
    );
    expect(await tombstones(mirror)).toEqual([]);
    const outcomes = await approve(mirror);
    expect(outcomes.get('categories')).toMatchObject({ outcome: 'done', listed: 12, removed: 12 });
    expect(await tombstones(mirror)).toEqual(ids);
    const progress = (await mirror.view('progress')).get('categories')?.value;
    expect(progress).toMatchObject({ complete: true, lastCompleteFull: { rows: 0, rowsWithheld: 0 } });
    expect(await sync(mirror)).toMatchObject({ kind: 'complete', withheld: 0 });
  });

  it('is not put up for approval because of answers that hold no list', async () => {
    await using mirror = await loaded();
    mirror.hub.faults.set('missing-list');
    for (let again = 1; again <= 3; again += 1)
      expect(await sync(mirror)).toMatchObject({ kind: 'inconclusive', withheld: 0 });
    expect(await waitingKeys(mirror, 'categories')).toEqual([]);
  });

  it('keeps every row, and is no longer listed, when its rows come back', async () => {
    await using mirror = await loaded();
    empty(mirror);
    await sync(mirror);
    await mirror.restart();
    expect(await waitingKeys(mirror, 'categories')).toEqual(ids);
    put(mirror, ids);
    expect(await sync(mirror)).toMatchObject({ kind: 'complete', withheld: 0 });
    expect(await waitingKeys(mirror, 'categories')).toEqual([]);
    expect(await tombstones(mirror)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
  });

  it('keeps rows that came back before the approval', async () => {
    await using mirror = await loaded();
    empty(mirror);
    await sync(mirror);
    put(mirror, ids.slice(0, 2));
    const outcomes = await approve(mirror);
    expect(outcomes.get('categories')).toMatchObject({ removed: 10, back: 2 });
    expect(await mirror.differences()).toEqual({});
  });

  it('loses no more than was listed by an approval of deletions that were listed before', async () => {
    await using mirror = await loaded();
    for (const id of ids.slice(0, 8)) mirror.hub.district.remove('categories', id);
    await sync(mirror);
    empty(mirror);
    const outcomes = await approve(mirror);
    expect(outcomes.get('categories')).toMatchObject({ listed: 8, removed: 8 });
    expect(await tombstones(mirror)).toEqual(ids.slice(0, 8));
    expect(await sync(mirror)).toMatchObject({ withheld: 4 });
  });
});
