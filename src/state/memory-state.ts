import type { Missing } from '../core/deletions/decide-missing.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Coordination } from './coordination.ts';
import { areasOf, type DeletionMemory, type StateStore, type TenantState } from './index-store.ts';
import { MemoryIndex } from './memory-index.ts';

/** The state of a tenant in the memory of this process. */
export class MemoryState implements TenantState {
  readonly deletions = memoryDeletions();
  readonly #tenantId: string;
  readonly #indexes = new Map<CollectionName, MemoryIndex>();

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  collection(name: CollectionName): MemoryIndex {
    const index = this.#indexes.get(name) ?? new MemoryIndex(`${this.#tenantId}/${name}`, areasOf(name));
    this.#indexes.set(name, index);
    return index;
  }

  async forget(name: CollectionName): Promise<void> {
    this.#indexes.delete(name);
    await this.deletions.setMissing(name, null);
  }
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
      const state = tenants.get(tenantId) ?? new MemoryState(tenantId);
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
