import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import type { CollectionIndex, IndexArea, IndexChange, StateStore } from '../../../src/state/index-store.ts';
import { checkPrefixOfTheLog } from './prefix-of-the-log.ts';

export interface StoreUnderTest {
  readonly name: string;
  /** Opens another handle to the same memory, as a process does that starts again. */
  readonly open: () => Promise<StateStore>;
  readonly propertyRuns: number;
}

export function positionAt(sequence: number, transactionId = `tx-${sequence}`) {
  return {
    sequence,
    transactionId,
    committedAtMs: 1_700_000_000_000 + sequence,
    offsets: { 'a/0': sequence },
  };
}

export function set(key: string, hash = randomBytes(16)): IndexChange {
  return { area: 'rows', key, value: hash };
}

function remove(key: string): IndexChange {
  return { area: 'rows', key, value: null };
}

const diverged = expect.objectContaining({ code: 'INDEX_DIVERGED' });

export async function allKeys(index: CollectionIndex, area: IndexArea = 'rows'): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const batch of index.keys(area)) for (const key of batch) found.add(key);
  return found;
}

/** Describes what every store must do. */
export function describeStateStore({ name, open, propertyRuns }: StoreUnderTest): void {
  describe(`${name}: index`, () => {
    const stores: StateStore[] = [];
    afterAll(async () => {
      for (const store of stores) await store.close();
    });
    async function newStore(): Promise<StateStore> {
      const store = await open();
      stores.push(store);
      return store;
    }
    async function newIndex(): Promise<CollectionIndex> {
      return (await newStore()).tenant(`t-${randomUUID()}`).collection('users');
    }

    it('the index is always a prefix of the log, whatever crashed in between', async () => {
      for (const collection of ['results', 'absence-versions'] as const) {
        const checked = checkPrefixOfTheLog({ open: newStore, runs: propertyRuns, collection });
        await expect(checked).resolves.toBeUndefined();
      }
    });

    it('a new index has no position, and refuses every expected one', async () => {
      const index = await newIndex();
      expect(await index.position()).toBeNull();
      expect(await index.lookup('rows', ['a'], null)).toEqual([null]);
      await expect(index.lookup('rows', ['a'], 'tx-1')).rejects.toEqual(diverged);
      await expect(index.apply('tx-1', positionAt(2), [])).rejects.toEqual(diverged);
    });

    it('hashes keep every byte', async () => {
      const index = await newIndex();
      const hashes = Array.from({ length: 256 }, (_, at) => Buffer.alloc(16, at));
      hashes.push(Buffer.from('0d0a0d0aff00fe80c32880efbfbd0d0a', 'hex'));
      const keys = hashes.map((_, at) => `k${at}`);
      await index.apply(
        null,
        positionAt(1),
        hashes.map((hash, at) => set(keys[at] ?? '', hash)),
      );
      expect(await index.lookup('rows', keys, 'tx-1')).toEqual(hashes);
    });

    it('keys are distinct from each other and from members of objects', async () => {
      const index = await newIndex();
      const keys = [
        '__proto__',
        'constructor',
        'toString',
        '',
        ' ',
        '0',
        '00',
        'a|b',
        'a%7Cb',
        'Å',
        'A\u030a',
      ];
      keys.push('🎒', '\r\n$5\r\n', '\u0000', '*', '{x}', 'x'.repeat(5_000), '\'"`');
      const changes = keys.map((key) => set(key));
      await index.apply(null, positionAt(1), changes);
      const found = await index.lookup('rows', keys, 'tx-1');
      expect(found).toEqual(changes.map(({ value }) => value));
      expect(await allKeys(index)).toEqual(new Set(keys));
      expect(await index.count('rows')).toBe(keys.length);
      expect(await index.lookup('rows', ['hasOwnProperty', 'A'], 'tx-1')).toEqual([null, null]);
    });

    it('a key with half a surrogate pair is the key that Kafka stores', async () => {
      const index = await newIndex();
      const change = set('a\ud800');
      await index.apply(null, positionAt(1), [set('a\ufffd'), change]);
      expect(await index.lookup('rows', ['a\ud800', 'a\ufffd'], 'tx-1')).toEqual([
        change.value,
        change.value,
      ]);
      expect(await allKeys(index)).toEqual(new Set(['a\ufffd']));
    });

    it('rows and rejects of the same key are separate', async () => {
      const index = await newIndex();
      const [row, reject] = [randomBytes(16), randomBytes(16)];
      await index.apply(null, positionAt(1), [
        { area: 'rows', key: 'k', value: row },
        { area: 'rejects', key: 'k', value: reject },
      ]);
      expect(await index.lookup('rejects', ['k'], 'tx-1')).toEqual([reject]);
      await index.apply('tx-1', positionAt(2), [{ area: 'rejects', key: 'k', value: null }]);
      expect(await index.lookup('rows', ['k'], 'tx-2')).toEqual([row]);
      expect(await index.lookup('rejects', ['k'], 'tx-2')).toEqual([null]);
      expect([await index.count('rows'), await index.count('rejects')]).toEqual([1, 0]);
    });

    it('collections and tenants are separate', async () => {
      const store = await newStore();
      const [north, south] = [store.tenant(`n-${randomUUID()}`), store.tenant(`s-${randomUUID()}`)];
      await north.collection('users').apply(null, positionAt(1), [set('k')]);
      expect(await north.collection('students').position()).toBeNull();
      expect(await south.collection('users').lookup('rows', ['k'], null)).toEqual([null]);
    });

    it('of several changes of a key in one transaction the last one counts', async () => {
      const index = await newIndex();
      const last = set('a');
      await index.apply(null, positionAt(1), [set('a'), remove('a'), last, set('b'), remove('b')]);
      expect(await index.lookup('rows', ['a', 'b'], 'tx-1')).toEqual([last.value, null]);
    });

    it('20,000 changes are applied completely or not at all', async () => {
      const index = await newIndex();
      const first = Array.from({ length: 20_000 }, (_, at) => set(`urn:uuid:${at}`));
      await index.apply(null, positionAt(1), first);
      const second = first.map(({ key }, at) => (at % 2 === 0 ? remove(key) : set(key)));
      await expect(index.apply('tx-0', positionAt(2), second)).rejects.toEqual(diverged);
      expect(await index.count('rows')).toBe(20_000);
      await index.apply('tx-1', positionAt(2), second);
      expect(await index.count('rows')).toBe(10_000);
      const keys = second.map(({ key }) => key);
      expect(await index.lookup('rows', keys, 'tx-2')).toEqual(second.map(({ value }) => value));
      expect((await allKeys(index)).size).toBe(10_000);
    });

    it('a repeated write is refused', async () => {
      const index = await newIndex();
      const old = set('a');
      await index.apply(null, positionAt(1), [old]);
      const newer = set('a');
      await index.apply('tx-1', positionAt(2), [newer]);
      await expect(index.apply(null, positionAt(1), [old])).rejects.toEqual(diverged);
      await expect(index.apply('tx-1', positionAt(2), [old])).rejects.toEqual(diverged);
      expect(await index.lookup('rows', ['a'], 'tx-2')).toEqual([newer.value]);
    });

    it('a transaction with the same number from another log is refused', async () => {
      const index = await newIndex();
      await index.apply(null, positionAt(1, 'ours'), [set('a')]);
      await expect(index.lookup('rows', ['a'], 'theirs')).rejects.toEqual(diverged);
      await expect(index.resume(positionAt(1, 'theirs'))).rejects.toEqual(diverged);
      expect(await index.position()).toEqual(positionAt(1, 'ours'));
    });

    it('a rebuild keeps nothing of what was there', async () => {
      const index = await newIndex();
      await index.apply(null, positionAt(1), [
        set('old'),
        { area: 'rejects', key: 'old', value: randomBytes(16) },
      ]);
      const replay = await index.rebuild();
      const change = set('new');
      await replay.write([change]);
      await replay.finish(positionAt(2));
      expect(await index.lookup('rows', ['old', 'new'], 'tx-2')).toEqual([null, change.value]);
      expect(await index.count('rejects')).toBe(0);
    });

    it('a replay that did not finish leaves no index that counts as known', async () => {
      const index = await newIndex();
      await index.apply(null, positionAt(1), [set('a')]);
      for (const begin of [() => index.resume(positionAt(1)), () => index.rebuild()]) {
        const replay = await begin();
        await replay.write([set('b')]);
        expect(await index.position()).toBeNull();
        for (const expected of [null, 'tx-1']) {
          await expect(index.lookup('rows', ['a'], expected)).rejects.toEqual(diverged);
          await expect(index.apply(expected, positionAt(2), [])).rejects.toEqual(diverged);
        }
        await expect(index.resume(positionAt(1))).rejects.toEqual(diverged);
      }
    });

    it('a replay that a newer one replaced writes nothing', async () => {
      const index = await newIndex();
      const voided = await index.rebuild();
      await voided.write([set('a')]);
      const current = await index.rebuild();
      await expect(voided.write([set('b')])).rejects.toEqual(diverged);
      await expect(voided.finish(positionAt(9))).rejects.toEqual(diverged);
      const change = set('c');
      await current.write([change]);
      await current.finish(positionAt(1));
      await expect(voided.write([set('d')])).rejects.toEqual(diverged);
      await expect(current.write([set('e')])).rejects.toEqual(diverged);
      expect(await index.position()).toEqual(positionAt(1));
      expect(await allKeys(index)).toEqual(new Set(['c']));
    });

    it('a replay of very many changes is written completely', async () => {
      const index = await newIndex();
      const replay = await index.rebuild();
      await replay.write(Array.from({ length: 12_345 }, (_, at) => set(`k${at}`)));
      await replay.finish(positionAt(1));
      expect(await index.count('rows')).toBe(12_345);
    });

    it('a dropped index accepts the first transaction of a new log', async () => {
      const index = await newIndex();
      await index.apply(null, positionAt(1), [set('a')]);
      const abandoned = await index.rebuild();
      await index.apply(null, positionAt(1, 'new-log'), [set('b')]);
      await expect(abandoned.write([set('c')])).rejects.toEqual(diverged);
      expect(await index.position()).toEqual(positionAt(1, 'new-log'));
      expect(await allKeys(index)).toEqual(new Set(['b']));
    });

    it('an empty list of keys still checks the position of the index', async () => {
      const index = await newIndex();
      await index.apply(null, positionAt(1), []);
      expect(await index.lookup('rows', [], 'tx-1')).toEqual([]);
      await expect(index.lookup('rows', [], 'tx-2')).rejects.toEqual(diverged);
    });
  });

  describe(`${name}: memory of deletions`, () => {
    it("what waits for a recheck or a person's decision survives the process", async () => {
      const tenantId = `t-${randomUUID()}`;
      const before = await open();
      const keys = new Map(
        Array.from({ length: 11_000 }, (_, at) => [`k${at}`, { sinceMs: at, times: 1 + (at % 2) }]),
      );
      const missing = { syncId: 'sync-1', confirmAtMs: 1_700_000_000_001, confirmsAll: false, keys };
      const odd = new Map(['__proto__', 'sync', '=', ''].map((key) => [key, { sinceMs: 7, times: 1 }]));
      const { deletions } = before.tenant(tenantId);
      await deletions.setMissing('users', {
        ...missing,
        keys: new Map([['gone', { sinceMs: 1, times: 1 }]]),
      });
      await deletions.setMissing('users', missing);
      await deletions.setMissing('orgs', { ...missing, confirmAtMs: null, keys: odd });
      await deletions.setMissing('classes', missing);
      await deletions.setMissing('classes', null);
      await before.close();

      const after = await open();
      const read = after.tenant(tenantId).deletions;
      expect(await read.missing('users')).toEqual(missing);
      expect(await read.missing('orgs')).toEqual({ ...missing, confirmAtMs: null, keys: odd });
      expect(await read.missing('classes')).toBeNull();
      await after.close();
    });
  });
}
