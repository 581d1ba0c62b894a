import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { areasOf } from '../../../src/state/index-store.ts';
import type {
  CollectionIndex,
  IndexArea,
  IndexChange,
  IndexReplay,
  StateStore,
} from '../../../src/state/index-store.ts';
import { allEntries, checkPrefixOfTheLog } from './prefix-of-the-log.ts';

export interface StoreUnderTest {
  readonly name: string;
  /** Opens another handle to the same memory, as a process does that starts again. */
  readonly open: () => Promise<StateStore>;
  readonly propertyRuns: number;
}

const AREAS = areasOf('absence-versions');
const diverged = expect.objectContaining({ code: 'INDEX_DIVERGED' });

export function positionAt(sequence: number, transactionId = `tx-${sequence}`) {
  return {
    sequence,
    transactionId,
    committedAtMs: 1_700_000_000_000 + sequence,
    offsets: { 'a/0': sequence },
  };
}

function put(area: IndexArea, key: string, value: Buffer | null = randomBytes(23)): IndexChange {
  return { area, key, value };
}

export const set = (key: string): IndexChange => put('rows', key, randomBytes(16));

export async function allKeys(index: CollectionIndex, area: IndexArea = 'rows'): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const batch of index.keys(area)) for (const key of batch) found.add(key);
  return found;
}

/** Describes what every store must do; most of it is one property. */
export function describeStateStore({ name, open, propertyRuns }: StoreUnderTest): void {
  async function newStore(): Promise<StateStore> {
    const store = await open();
    onTestFinished(() => store.close());
    return store;
  }
  async function newIndex(collection: 'absence-versions' | 'users' = 'absence-versions') {
    return (await newStore()).tenant(`t-${randomUUID()}`).collection(collection);
  }

  describe(`${name}: index`, () => {
    it('the index is always a prefix of the log, whatever crashed in between', async () => {
      for (const collection of ['results', 'absence-versions'] as const) {
        const checked = checkPrefixOfTheLog({ open: newStore, runs: propertyRuns, collection });
        await expect(checked).resolves.toBeUndefined();
      }
    });
    describeIndex(newIndex);
    it('the indexes of collections and of tenants are separate', async () => {
      const store = await newStore();
      const [north, south] = [store.tenant(`n-${randomUUID()}`), store.tenant(`s-${randomUUID()}`)];
      await north.collection('users').apply(null, positionAt(1), [set('k')]);
      expect(await north.collection('students').position()).toBeNull();
      expect(await south.collection('users').lookup('rows', ['k'], null)).toEqual([null]);
    });
  });
  describe(`${name}: entries amid writes`, () => {
    describeReading(newIndex);
  });
  describe(`${name}: memory of deletions`, () => {
    describeDeletions(newStore);
  });
}

type NewIndex = (collection?: 'absence-versions' | 'users') => Promise<CollectionIndex>;

function describeIndex(newIndex: NewIndex): void {
  it('an index keeps every character of a key, every byte of a value, and keys such as __proto__', async () => {
    const index = await newIndex();
    const keys = ['__proto__', 'constructor', 'toString', '', ' ', '0', '00', 'a|b', 'a%7Cb', 'Å', 'A\u030a'];
    keys.push('🎒', '\r\n$5\r\n', '\u0000', '*', '{x}', 'x'.repeat(5_000), '\'"`');
    const values = [0, 1, 6, 16, 23, 57, 64, 65, 5_000].map((length) => randomBytes(length));
    values.push(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), Buffer.from('\r\n$-1\r\n'));
    const changes = keys.map((key, at) => put('pointers', key, values[at % values.length]));
    await index.apply(null, positionAt(1), changes);
    expect(await index.lookup('pointers', keys, 'tx-1')).toEqual(changes.map(({ value }) => value));
    expect(await index.lookup('pointers', ['hasOwnProperty', 'A'], 'tx-1')).toEqual([null, null]);
    expect(await allKeys(index, 'pointers')).toEqual(new Set(keys));
    expect(await allEntries(index, 'pointers')).toEqual(
      new Map(changes.map(({ key, value }) => [key, value])),
    );
  });

  it('a key with half a surrogate pair stands in an index as Kafka stores it', async () => {
    const index = await newIndex();
    const change = set('a\ud800');
    await index.apply(null, positionAt(1), [set('a\ufffd'), change]);
    const both = await index.lookup('rows', ['a\ud800', 'a\ufffd'], 'tx-1');
    expect(both).toEqual([change.value, change.value]);
    expect(await allKeys(index)).toEqual(new Set(['a\ufffd']));
  });

  it('40,000 changes of an index are applied completely or not at all, and can be replayed', async () => {
    const index = await newIndex();
    const keys = Array.from({ length: 5_000 }, (_, at) => `k${at}`);
    const changes = keys.flatMap((key) => AREAS.map((area) => put(area, key)));
    await index.apply(null, positionAt(1), changes);
    const second = changes.map((change, at) => (at % 3 === 0 ? put(change.area, change.key, null) : change));
    await expect(index.apply('tx-0', positionAt(2), second)).rejects.toEqual(diverged);
    for (const area of AREAS) expect(await index.count(area)).toBe(5_000);
    await index.apply('tx-1', positionAt(2), second);
    const expectSecond = async (from: Pick<IndexReplay, 'entries'>): Promise<void> => {
      for (const area of AREAS) {
        const wanted = second.flatMap(({ area: of, key, value }) =>
          of === area && value !== null ? [[key, value] as const] : [],
        );
        expect(await allEntries(from, area)).toEqual(new Map(wanted));
      }
    };
    await expectSecond(index);
    const replay = await index.rebuild();
    await replay.write(second);
    await expectSecond(replay);
    const pointers = second.filter(({ area }) => area === 'pointers').map(({ value }) => value);
    expect(await replay.lookup('pointers', keys)).toEqual(pointers);
    await replay.finish(positionAt(3));
    await expectSecond(index);
  });

  it('the index of a collection without absences refuses entries of absences', async () => {
    const index = await newIndex('users');
    const attempts = [
      () => index.apply(null, positionAt(1), [set('a'), put('pointers', 'a')]),
      () => index.lookup('pointers', ['a'], null),
      () => index.count('open'),
      () => allKeys(index, 'open'),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toThrow(RangeError);
    expect(await index.lookup('rows', ['a'], null)).toEqual([null]);
  });
}

function describeReading(newIndex: NewIndex): void {
  it('reading the entries of an index skips no entry that stays while others are removed', async () => {
    const index = await newIndex();
    const changes = Array.from({ length: 6_000 }, (_, at) => put('open', `k${at}`));
    await index.apply(null, positionAt(1), changes);
    const [odd, even] = [1, 0].map((rest) => changes.filter((_, at) => at % 2 === rest));
    const met = new Map<string, Buffer>();
    let sequence = 1;
    for await (const batch of index.entries('open')) {
      for (const [key, value] of batch) met.set(key, value);
      const removals = odd?.splice(0, 700).map(({ key }) => put('open', key, null)) ?? [];
      await index.apply(`tx-${sequence}`, positionAt(sequence + 1), removals);
      sequence += 1;
    }
    for (const { key, value } of even ?? []) expect(met.get(key)).toEqual(value);
  });
}

function describeDeletions(open: () => Promise<StateStore>): void {
  it('the missing rows of a collection survive the process', async () => {
    const tenantId = `t-${randomUUID()}`;
    const { deletions } = (await open()).tenant(tenantId);
    const keys = new Map(
      Array.from({ length: 11_000 }, (_, at) => [`k${at}`, { sinceMs: at, times: 1 + (at % 2) }]),
    );
    const missing = { syncId: 'sync-1', confirmAtMs: 1_700_000_000_001, confirmsAll: false, keys };
    const of = (...names: string[]) => new Map(names.map((key) => [key, { sinceMs: 7, times: 1 }]));
    const named = { ...missing, confirmAtMs: null, keys: of('__proto__', 'sync', '=', '') };
    await deletions.setMissing('users', { ...missing, keys: of('gone') });
    await deletions.setMissing('users', missing);
    await deletions.setMissing('orgs', named);
    await deletions.setMissing('classes', missing);
    await deletions.setMissing('classes', null);
    const read = (await open()).tenant(tenantId).deletions;
    expect(await read.missing('users')).toEqual(missing);
    expect(await read.missing('orgs')).toEqual(named);
    expect(await read.missing('classes')).toBeNull();
  });
}
