import type { Missing } from '../core/deletions/decide-missing.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Coordination } from './coordination.ts';
import { areasOf, type DeletionMemory, type StateStore, type TenantState } from './index-store.ts';
import { MemoryIndex } from './memory-index.ts';

/**
 * The state of a tenant in the memory of this process; for a reader that must change nothing, on top of another process's
 * state.
 */
export class MemoryState implements TenantState {
  readonly deletions: DeletionMemory;
  readonly #live: TenantState | null;
  readonly #tenantId: string;
  readonly #indexes = new Map<CollectionName, MemoryIndex>();

  constructor(tenantId: string, live: TenantState | null = null) {
    this.#live = live;
    this.#tenantId = tenantId;
    this.deletions = memoryDeletions(live?.deletions);
  }

  /**
   * Begins with the current indexes of these collections. Call this before the log's progress is read: recovery
   * brings an index that is behind up to date, but an index ahead of that progress would count as unknown.
   */
  async begin(collections: readonly CollectionName[]): Promise<void> {
    for (const name of collections) {
      const index = this.#live?.collection(name);
      const at = (await index?.position()) ?? null;
      this.#indexes.set(name, this.#newIndex(name, index && at && { index, at }));
    }
  }

  collection(name: CollectionName): MemoryIndex {
    const index = this.#indexes.get(name) ?? this.#newIndex(name);
    this.#indexes.set(name, index);
    return index;
  }

  async forget(name: CollectionName): Promise<void> {
    this.#indexes.set(name, this.#newIndex(name));
    await this.deletions.setMissing(name, null);
  }

  #newIndex(name: CollectionName, base?: ConstructorParameters<typeof MemoryIndex>[0]['base']): MemoryIndex {
    return new MemoryIndex({ name: `${this.#tenantId}/${name}`, areas: areasOf(name), base });
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

/**
 * A tenant's memory between syncs in this process. For a reader that must change nothing, it lies on top of another process's
 * memory and keeps only its own changes.
 */
function memoryDeletions(base?: DeletionMemory): DeletionMemory {
  const own = new Map<CollectionName, Missing | null>();
  return {
    async missing(collection) {
      const known = own.get(collection);
      return known === undefined ? ((await base?.missing(collection)) ?? null) : known;
    },
    async setMissing(collection, missing) {
      own.set(collection, missing && { ...missing, keys: new Map(missing.keys) });
    },
  };
}
