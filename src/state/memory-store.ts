import type { CollectionName } from '../model/collections.ts';
import { forgetDeletions } from './forget-deletions.ts';
import { areasOf } from './index-store.ts';
import type { StateStore, TenantState } from './index-store.ts';
import { MemoryCoordination } from './memory-coordination.ts';
import { MemoryDeletions } from './memory-deletions.ts';
import { MemoryIndex } from './memory-index.ts';

/** Keeps the state of tenants in this process: for small tenants and for tests. `now`: ms since the epoch. */
export function createMemoryStore(options: { readonly now?: (() => number) | undefined } = {}): StateStore {
  const tenants = new Map<string, TenantState>();
  return {
    coordination: new MemoryCoordination(options.now ?? Date.now),
    async ready() {},
    tenant(tenantId) {
      const state = tenants.get(tenantId) ?? newTenant(tenantId);
      tenants.set(tenantId, state);
      return state;
    },
    async close() {},
  };
}

function newTenant(tenantId: string): TenantState {
  const indexes = new Map<CollectionName, MemoryIndex>();
  const deletions = new MemoryDeletions();
  return {
    collection(name) {
      const index =
        indexes.get(name) ?? new MemoryIndex({ name: `${tenantId}/${name}`, areas: areasOf(name) });
      indexes.set(name, index);
      return index;
    },
    deletions,
    async forget(name) {
      indexes.delete(name);
      await forgetDeletions(deletions, name);
    },
  };
}
