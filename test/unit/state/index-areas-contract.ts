import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { areasOf } from '../../../src/state/index-store.ts';
import type {
  CollectionIndex,
  IndexArea,
  IndexChange,
  IndexEntry,
  StateStore,
} from '../../../src/state/index-store.ts';
import { allKeys, positionAt } from './index-store-contract.ts';
import { allEntries } from './prefix-of-the-log.ts';

const AREAS = areasOf('absence-versions');
const diverged = expect.objectContaining({ code: 'INDEX_DIVERGED' });

function put(area: IndexArea, key: string, value: Buffer = randomBytes(23)): IndexChange {
  return { area, key, value };
}

function inEvery(key: string): IndexChange[] {
  return AREAS.map((area) => put(area, key));
}

/** Describes what every store must do with the areas of an index. */
export function describeIndexAreas(options: {
  readonly name: string;
  readonly open: () => Promise<StateStore>;
}): void {
  const stores: StateStore[] = [];
  afterAll(async () => {
    for (const store of stores) await store.close();
  });
  async function newIndex(collection: 'absence-versions' | 'users' = 'absence-versions') {
    const store = await options.open();
    stores.push(store);
    return store.tenant(`t-${randomUUID()}`).collection(collection);
  }
  describe(`${options.name}: areas of an index`, () => {
    describeValues(newIndex);
  });
  describe(`${options.name}: a replay that reads`, () => {
    describeReplay(newIndex);
  });
  describe(`${options.name}: entries amid writes`, () => {
    describeReading(newIndex);
  });
}

type NewIndex = (collection?: 'absence-versions' | 'users') => Promise<CollectionIndex>;

function describeValues(newIndex: NewIndex): void {
  it('all areas of a transaction are applied together, or none', async () => {
    const index = await newIndex();
    const first = inEvery('a');
    await index.apply(null, positionAt(1), first);
    await expect(index.apply('tx-0', positionAt(2), inEvery('b'))).rejects.toEqual(diverged);
    for (const [at, area] of AREAS.entries()) {
      expect(await index.lookup(area, ['a', 'b'], 'tx-1')).toEqual([first[at]?.value, null]);
      await expect(index.lookup(area, ['a'], 'tx-0')).rejects.toEqual(diverged);
    }
    const second = AREAS.flatMap((area) => [put(area, 'b'), { area, key: 'a', value: null }]);
    await index.apply('tx-1', positionAt(2), second);
    for (const area of AREAS) {
      const value = second.find((change) => change.area === area)?.value;
      expect(await index.lookup(area, ['a', 'b'], 'tx-2')).toEqual([null, value]);
      expect(await index.count(area)).toBe(1);
    }
  });

  it('one key in every area is an entry of each', async () => {
    const index = await newIndex();
    for (const [at, area] of AREAS.entries()) {
      await index.apply(at === 0 ? null : `tx-${at}`, positionAt(at + 1), [put(area, 'k')]);
      for (const [other, name] of AREAS.entries()) expect(await index.count(name)).toBe(other > at ? 0 : 1);
    }
    await index.apply(`tx-${AREAS.length}`, positionAt(AREAS.length + 1), [
      { area: 'pointers', key: 'k', value: null },
    ]);
    const counts = await Promise.all(AREAS.map((area) => index.count(area)));
    expect(counts).toEqual(AREAS.map((area) => (area === 'pointers' ? 0 : 1)));
  });

  it('values keep every byte', async () => {
    const index = await newIndex();
    const values = [0, 1, 6, 16, 23, 57, 64, 65, 5_000].map((length) => randomBytes(length));
    values.push(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), Buffer.from('\r\n$-1\r\n'));
    const changes = values.map((value, at) => put('pointers', `k${at}`, value));
    await index.apply(null, positionAt(1), changes);
    const keys = changes.map(({ key }) => key);
    expect(await index.lookup('pointers', keys, 'tx-1')).toEqual(values);
    expect(await allEntries(index, 'pointers')).toEqual(
      new Map(changes.map(({ key, value }) => [key, value])),
    );
  });

  it('an empty value is a value, not a removal', async () => {
    const index = await newIndex();
    const empty = Buffer.alloc(0);
    await index.apply(null, positionAt(1), [put('open', 'a', empty), put('open', 'b')]);
    await index.apply('tx-1', positionAt(2), [put('open', 'b', empty)]);
    expect(await index.lookup('open', ['a', 'b', 'c'], 'tx-2')).toEqual([empty, empty, null]);
    expect(await index.count('open')).toBe(2);
    expect(await allEntries(index, 'open')).toEqual(
      new Map([
        ['a', empty],
        ['b', empty],
      ]),
    );
    await index.apply('tx-2', positionAt(3), [{ area: 'open', key: 'a', value: null }]);
    expect(await allKeys(index, 'open')).toEqual(new Set(['b']));
  });

  it('keys of entries keep every character', async () => {
    const index = await newIndex();
    const keys = ['', '__proto__', 'a|b', 'å', '🎒', '\r\n', '\u0000', 'x'.repeat(5_000)];
    await index.apply(
      null,
      positionAt(1),
      [...keys, 'half\ud800'].map((key) => put('absent', key)),
    );
    const found = await allEntries(index, 'absent');
    expect(new Set(found.keys())).toEqual(new Set([...keys, 'half\ufffd']));
    expect(await allKeys(index, 'absent')).toEqual(new Set(found.keys()));
  });

  it('40,000 changes over all areas are applied completely', async () => {
    const index = await newIndex();
    const changes = Array.from({ length: 5_000 }, (_, at) => inEvery(`k${at}`)).flat();
    await index.apply(null, positionAt(1), changes);
    const isGone = (at: number) => at % 3 === 0;
    await index.apply(
      'tx-1',
      positionAt(2),
      changes.map((change, at) => (isGone(at) ? { ...change, value: null } : change)),
    );
    expect(await index.position()).toEqual(positionAt(2));
    for (const area of AREAS) {
      const wanted = changes.filter((change, at) => change.area === area && !isGone(at));
      expect(await index.count(area)).toBe(wanted.length);
      expect(await allEntries(index, area)).toEqual(new Map(wanted.map(({ key, value }) => [key, value])));
    }
  });

  it('a collection without chains refuses their entries', async () => {
    const index = await newIndex('users');
    const misplaced = [put('rows', 'a'), put('pointers', 'a')];
    await expect(index.apply(null, positionAt(1), misplaced)).rejects.toThrow(RangeError);
    expect(await index.lookup('rows', ['a'], null)).toEqual([null]);
    await expect(index.lookup('pointers', ['a'], null)).rejects.toThrow(RangeError);
    await expect(index.count('open')).rejects.toThrow(RangeError);
    await expect(allKeys(index, 'open')).rejects.toThrow(RangeError);
    await expect(allEntries(index, 'open')).rejects.toThrow(RangeError);
    const replay = await index.rebuild();
    await expect(replay.write(misplaced)).rejects.toThrow(RangeError);
    await expect(replay.lookup('absences', ['a'])).rejects.toThrow(RangeError);
    await replay.finish(positionAt(1));
    expect(await index.count('rows')).toBe(0);
  });
}

function describeReplay(newIndex: NewIndex): void {
  it('a rebuild keeps nothing of any area', async () => {
    const index = await newIndex();
    await index.apply(null, positionAt(1), inEvery('old'));
    const replay = await index.rebuild();
    for (const area of AREAS) {
      expect(await replay.lookup(area, ['old'])).toEqual([null]);
      expect(await allEntries(replay, area)).toEqual(new Map());
    }
    await replay.finish(positionAt(2));
    for (const area of AREAS) expect(await index.count(area)).toBe(0);
    expect(await index.lookup('pointers', ['old'], 'tx-2')).toEqual([null]);
  });

  it('a replay that resumes keeps what was there', async () => {
    const index = await newIndex();
    const before = inEvery('old');
    await index.apply(null, positionAt(1), before);
    const replay = await index.resume(positionAt(1));
    const after = inEvery('new');
    await replay.write(after);
    for (const [at, area] of AREAS.entries()) {
      const values = [before[at]?.value, after[at]?.value];
      expect(await replay.lookup(area, ['old', 'new'])).toEqual(values);
    }
    await replay.finish(positionAt(2));
    for (const [at, area] of AREAS.entries()) {
      const values = [before[at]?.value, after[at]?.value];
      expect(await index.lookup(area, ['old', 'new'], 'tx-2')).toEqual(values);
    }
  });

  it('a replay reads what it has just written', async () => {
    const index = await newIndex();
    const replay = await index.rebuild();
    const keys = Array.from({ length: 12_345 }, (_, at) => `k${at}`);
    const changes = keys.map((key) => put('pointers', key));
    await replay.write(changes);
    expect(await replay.lookup('pointers', keys)).toEqual(changes.map(({ value }) => value));
    const counted = Buffer.from([2]);
    await replay.write([put('pointers', 'k0', counted), { area: 'pointers', key: 'k1', value: null }]);
    expect(await replay.lookup('pointers', ['k0', 'k1', 'k2'])).toEqual([counted, null, changes[2]?.value]);
    const found = await allEntries(replay, 'pointers');
    expect([found.size, found.get('k0'), found.has('k1')]).toEqual([12_344, counted, false]);
    expect(await replay.lookup('pointers', [])).toEqual([]);
    await replay.finish(positionAt(1));
    expect(await allEntries(index, 'pointers')).toEqual(found);
  });

  it('a replay that ended within any area leaves no index that counts as known', async () => {
    const index = await newIndex();
    for (const area of AREAS) {
      const replay = await index.rebuild();
      await replay.write([put(area, 'a')]);
      expect(await index.position()).toBeNull();
      await expect(index.lookup('rows', ['a'], null)).rejects.toEqual(diverged);
      await expect(index.apply(null, positionAt(1), [])).rejects.toEqual(diverged);
    }
  });

  it('a replay that a newer one replaced writes nothing that it has read', async () => {
    const index = await newIndex();
    const voided = await index.rebuild();
    await voided.write([put('absences', 'a', Buffer.from([1]))]);
    const current = await index.rebuild();
    const [step] = await voided.lookup('absences', ['a']);
    expect(step).toBeNull();
    await expect(voided.write([put('absences', 'a', Buffer.from([2]))])).rejects.toEqual(diverged);
    const change = put('absences', 'a');
    await current.write([change]);
    await current.finish(positionAt(1));
    expect(await index.lookup('absences', ['a'], 'tx-1')).toEqual([change.value]);
  });
}

function describeReading(newIndex: NewIndex): void {
  const keys = Array.from({ length: 6_000 }, (_, at) => `k${at}`);

  async function readAmidWrites(write: (yielded: readonly IndexEntry[]) => readonly IndexChange[]) {
    const index = await newIndex();
    const changes = keys.map((key) => put('open', key));
    await index.apply(null, positionAt(1), changes);
    const met = new Map<string, Buffer>();
    let sequence = 1;
    let yielded = 0;
    for await (const batch of index.entries('open')) {
      for (const [key, value] of batch) met.set(key, value);
      yielded += batch.length;
      await index.apply(`tx-${sequence}`, positionAt(sequence + 1), write(batch));
      sequence += 1;
    }
    const before = new Map(changes.map(({ key, value }) => [key, value]));
    return { index, met, before, yielded };
  }

  const removed = (key: string): IndexChange => ({ area: 'open', key, value: null });

  it('removing what was read skips no entry', async () => {
    const { index, met, before } = await readAmidWrites((batch) => batch.map(([key]) => removed(key)));
    expect(met).toEqual(before);
    expect(await index.count('open')).toBe(0);
  });

  it('removing what was not read yet skips no entry that stays', async () => {
    const odd = keys.filter((_, at) => at % 2 === 1);
    const { met, before } = await readAmidWrites(() => odd.splice(0, 700).map(removed));
    for (const [at, key] of keys.entries()) if (at % 2 === 0) expect(met.get(key)).toEqual(before.get(key));
  });

  it('entries that are written again during a scan do not make it endless', async () => {
    let republication: IndexChange[] = [];
    const { met, yielded } = await readAmidWrites((batch) => {
      const changes = [...republication, ...batch.map(([key]) => removed(key))];
      republication = batch.map(([key, value]) => put('open', key, value));
      return changes;
    });
    expect(met.size).toBe(keys.length);
    expect(yielded).toBeLessThan(keys.length * 2);
  });
}
