import type { Missing } from '../core/deletions/decide-missing.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Coordination } from './coordination.ts';
import {
  areasOf,
  type CollectionIndex,
  type DeletionMemory,
  type StateStore,
  type TenantState,
} from './index-store.ts';
import { memoryIndex } from './memory-index.ts';

/** The state of a tenant in the memory of this process. */
export function memoryState(tenantId: string): TenantState {
  const deletions = memoryDeletions();
  const indexes = new Map<CollectionName, CollectionIndex>();
  return {
    deletions,
    collection(name) {
      const index = indexes.get(name) ?? memoryIndex(`${tenantId}/${name}`, areasOf(name));
      indexes.set(name, index);
      return index;
    },
    async forget(name) {
      indexes.delete(name);
      await deletions.setMissing(name, null);
    },
  };
}

/** An index in memory belongs to this process alone: no other one finds it, or asks it for anything. */
const NOBODY_ELSE: Coordination = {
  announce: () => Promise.resolve(true),
  livingOwners: () => Promise.resolve([]),
  withdraw: () => Promise.resolve(),
  leave: () => Promise.resolve(),
  cancel: () => Promise.resolve(),
  take: () => Promise.resolve(null),
  answer: () => Promise.resolve(),
  answerTo: () => Promise.resolve(null),
};

/** Keeps the state of tenants in this process: for small tenants and for tests. */
export function createMemoryStore(): StateStore {
  const tenants = new Map<string, TenantState>();
  return {
    coordination: NOBODY_ELSE,
    async ready() {},
    tenant(tenantId) {
      const state = tenants.get(tenantId) ?? memoryState(tenantId);
      tenants.set(tenantId, state);
      return state;
    },
    async close() {},
  };
}

/** A tenant's memory between syncs in this process. */
function memoryDeletions(): DeletionMemory {
  const lists = new Map<CollectionName, Missing | null>();
  return {
    async missing(collection) {
      return lists.get(collection) ?? null;
    },
    async setMissing(collection, missing) {
      lists.set(collection, missing && { ...missing, keys: new Map(missing.keys) });
    },
  };
}
