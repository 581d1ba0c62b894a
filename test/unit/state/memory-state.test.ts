import { describe, expect, it } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { areasOf, type CollectionIndex, type StateStore } from '../../../src/state/index-store.ts';
import { MemoryDeletions } from '../../../src/state/memory-state.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';
import { createMemoryStore, MemoryState } from '../../../src/state/memory-state.ts';
import { allKeys, describeStateStore, positionAt, set } from './index-store-contract.ts';
import { layeredIndex } from './layered-index.ts';

const diverged = expect.objectContaining({ code: 'INDEX_DIVERGED' });

/** A store whose indexes are made by `make`, and whose memories of deletions are overlays. */
function storeOf(make: (name: CollectionName) => CollectionIndex): StateStore {
  const below = createMemoryStore();
  const states = new Map<string, ReturnType<StateStore['tenant']>>();
  return {
    ...below,
    tenant(tenantId) {
      const indexes = new Map<CollectionName, CollectionIndex>();
      const state = states.get(tenantId) ?? {
        collection: (name: CollectionName) => {
          const index = indexes.get(name) ?? make(name);
          indexes.set(name, index);
          return index;
        },
        deletions: new MemoryDeletions(below.tenant(tenantId).deletions),
        forget: () => Promise.resolve(),
      };
      states.set(tenantId, state);
      return state;
    },
  };
}

const inMemory = storeOf((name) => new MemoryIndex({ name, areas: areasOf(name), base: null }));
describeStateStore({ name: 'overlay in memory', open: async () => inMemory, propertyRuns: 100 });

const layered = storeOf((name) => layeredIndex(areasOf(name)));
describeStateStore({ name: 'overlay over an index', open: async () => layered, propertyRuns: 100 });

/** An index of another process, with an overlay on it. */
async function overlaid(): Promise<{ live: CollectionIndex; overlay: MemoryIndex }> {
  const state = createMemoryStore().tenant('north');
  const live = state.collection('users');
  await live.apply(null, positionAt(1), [set('a'), set('b')]);
  const overlays = new MemoryState('north', state);
  await overlays.begin(['users']);
  return { live, overlay: overlays.collection('users') };
}

describe('an overlay beside a living owner', () => {
  it('writes nothing to the index below', async () => {
    const { live, overlay } = await overlaid();
    const before = await live.lookup('rows', ['a', 'b'], 'tx-1');
    await overlay.apply('tx-1', positionAt(2, 'planned'), [
      set('a'),
      set('c'),
      { area: 'rows', key: 'b', value: null },
    ]);
    const replay = await overlay.resume(positionAt(2, 'planned'));
    await replay.write([set('d')]);
    await replay.finish(positionAt(3, 'later'));
    expect(await allKeys(overlay)).toEqual(new Set(['a', 'c', 'd']));
    await overlay.rebuild();
    expect(await live.position()).toEqual(positionAt(1));
    expect(await live.lookup('rows', ['a', 'b', 'c', 'd'], 'tx-1')).toEqual([...before, null, null]);
  });

  it('follows the owner through its transactions', async () => {
    const { live, overlay } = await overlaid();
    const change = set('c');
    await live.apply('tx-1', positionAt(2), [change]);
    expect(await overlay.lookup('rows', ['c'], 'tx-1')).toEqual([change.value]);
    expect(await overlay.count('rows')).toBe(3);
  });

  it('is refused after the index below was dropped', async () => {
    const { live, overlay } = await overlaid();
    await live.rebuild();
    await expect(overlay.lookup('rows', [], 'tx-1')).rejects.toEqual(diverged);
  });
});

describe('an overlay on the memory of deletions', () => {
  const missing = (...keys: string[]) => ({
    syncId: 'sync-1',
    confirmAtMs: null,
    confirmsAll: false,
    keys: new Map(keys.map((key) => [key, { sinceMs: 1, times: 1 }])),
  });

  it('shows its own changes over what lies below, and changes nothing there', async () => {
    const below = createMemoryStore().tenant('north').deletions;
    await below.setMissing('users', missing('u', 'v'));
    await below.setMissing('orgs', missing('o'));
    const overlay = new MemoryDeletions(below);
    await overlay.setMissing('orgs', missing('p'));
    expect(await overlay.missing('users')).toEqual(missing('u', 'v'));
    expect(await overlay.missing('orgs')).toEqual(missing('p'));
    expect(await below.missing('users')).toEqual(missing('u', 'v'));
    expect(await below.missing('orgs')).toEqual(missing('o'));
  });
});
