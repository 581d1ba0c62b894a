import type { Missing } from '../core/deletions/missing.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Coordination } from './coordination.ts';
import { areasOf, type DeletionMemory, type StateStore, type TenantState } from './index-store.ts';
import { MemoryIndex } from './memory-index.ts';

/**
 * The state of a tenant in the memory of this process; for a reader that must change nothing, on top of another process's
 * state.
 */
export class MemoryState implements TenantState {
  readonly deletions: MemoryDeletions;
  readonly #live: TenantState | null;
  readonly #tenantId: string;
  readonly #indexes = new Map<CollectionName, MemoryIndex>();

  constructor(tenantId: string, live: TenantState | null = null) {
    this.#live = live;
    this.#tenantId = tenantId;
    this.deletions = new MemoryDeletions(live?.deletions);
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
export class MemoryDeletions implements DeletionMemory {
  readonly #base: DeletionMemory | null;
  readonly #missing = new Map<CollectionName, Missing | null>();

  constructor(base: DeletionMemory | null = null) {
    this.#base = base;
  }

  async missing(collection: CollectionName): Promise<Missing | null> {
    const own = this.#missing.get(collection);
    return own === undefined ? ((await this.#base?.missing(collection)) ?? null) : own;
  }

  async setMissing(collection: CollectionName, missing: Missing | null): Promise<void> {
    this.#missing.set(collection, missing && { ...missing, keys: new Map(missing.keys) });
  }
}
