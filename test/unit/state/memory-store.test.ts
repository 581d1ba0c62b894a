import { expect, it } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { areasOf, type CollectionIndex, type IndexReplay } from '../../../src/state/index-store.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';
import { createMemoryStore, MemoryState } from '../../../src/state/memory-state.ts';
import { allKeys, describeStateStore, positionAt, set } from './index-store-contract.ts';
import { checkPrefixOfTheLog } from './prefix-of-the-log.ts';

const store = createMemoryStore();

describeStateStore({ name: 'memory', open: async () => store, propertyRuns: 300 });
/** An index for tests: before a write, what there is becomes the index below a new overlay. */
class LayeredIndex {
  readonly #name: CollectionName;
  #top: MemoryIndex;
  #layers = 0;

  constructor(name: CollectionName) {
    this.#name = name;
    this.#top = new MemoryIndex({ name, areas: areasOf(name), base: null });
  }

  async written(): Promise<MemoryIndex> {
    const at = await this.#top.position();
    if (at === null || this.#layers === 8) return this.#top;
    this.#layers += 1;
    const base = { index: this.#top, at };
    this.#top = new MemoryIndex({ name: this.#name, areas: areasOf(this.#name), base });
    return this.#top;
  }

  get index(): CollectionIndex {
    const top = this.#top;
    return {
      position: () => top.position(),
      lookup: (...asked) => top.lookup(...asked),
      count: (area) => top.count(area),
      keys: (area) => top.keys(area),
      entries: (area) => top.entries(area),
      rebuild: () => top.rebuild(),
      apply: async (...changes) => (await this.written()).apply(...changes),
      resume: async (from): Promise<IndexReplay> => (await this.written()).resume(from),
    };
  }
}

it('an overlay over an index is a prefix of the log, whatever crashed in between', async () => {
  const layered = new Map<string, LayeredIndex>();
  const tenant = (id: string) => ({
    ...store.tenant(id),
    collection: (name: CollectionName) => {
      const known = layered.get(id) ?? new LayeredIndex(name);
      layered.set(id, known);
      return known.index;
    },
  });
  const open = async () => ({ ...store, tenant });
  const checked = checkPrefixOfTheLog({ open, runs: 200, collection: 'absence-versions' });
  await expect(checked).resolves.toBeUndefined();
});

/** An index of another process, with an overlay on it. */
async function overlaid(): Promise<{ live: CollectionIndex; overlay: MemoryIndex }> {
  const state = createMemoryStore().tenant('north');
  const live = state.collection('users');
  await live.apply(null, positionAt(1), [set('a'), set('b')]);
  const overlays = new MemoryState('north', state);
  await overlays.begin(['users']);
  return { live, overlay: overlays.collection('users') };
}

it('an overlay writes nothing to the index below it', async () => {
  const { live, overlay } = await overlaid();
  const before = await live.lookup('rows', ['a', 'b'], 'tx-1');
  const removed = { area: 'rows', key: 'b', value: null } as const;
  await overlay.apply('tx-1', positionAt(2), [set('a'), set('c'), removed]);
  const replay = await overlay.resume(positionAt(2));
  await replay.write([set('d')]);
  await replay.finish(positionAt(3));
  expect(await allKeys(overlay)).toEqual(new Set(['a', 'c', 'd']));
  await overlay.rebuild();
  expect(await live.position()).toEqual(positionAt(1));
  expect(await live.lookup('rows', ['a', 'b', 'c', 'd'], 'tx-1')).toEqual([...before, null, null]);
});

it('an overlay follows a living owner, and is refused once the index below was dropped', async () => {
  const { live, overlay } = await overlaid();
  const change = set('c');
  await live.apply('tx-1', positionAt(2), [change]);
  expect(await overlay.lookup('rows', ['c'], 'tx-1')).toEqual([change.value]);
  expect(await overlay.count('rows')).toBe(3);
  await live.rebuild();
  const diverged = expect.objectContaining({ code: 'INDEX_DIVERGED' });
  await expect(overlay.lookup('rows', [], 'tx-1')).rejects.toEqual(diverged);
});

it('an overlay on the memory of deletions shows its own changes, and changes nothing below it', async () => {
  const missing = (syncId: string) => ({ syncId, confirmAtMs: null, confirmsAll: false, keys: new Map() });
  const state = createMemoryStore().tenant('north');
  await state.deletions.setMissing('users', missing('1'));
  await state.deletions.setMissing('orgs', missing('2'));
  const { deletions } = new MemoryState('north', state);
  await deletions.setMissing('orgs', missing('3'));
  expect(await deletions.missing('users')).toEqual(missing('1'));
  expect(await deletions.missing('orgs')).toEqual(missing('3'));
  expect(await state.deletions.missing('orgs')).toEqual(missing('2'));
});
