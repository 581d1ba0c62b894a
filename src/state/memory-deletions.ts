import type { Missing } from '../core/deletions/missing.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from './index-store.ts';

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
