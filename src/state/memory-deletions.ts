import type { Missing } from '../core/deletions/missing.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from './index-store.ts';

/** The memory of one collection; an undefined field has the value of the memory below. */
interface Noted {
  missing?: Missing | null;
  isNotOffered?: boolean;
}

/**
 * A tenant's memory between syncs in this process. For a reader that must change nothing, it lies on top of another process's
 * memory and keeps only its own changes.
 */
export class MemoryDeletions implements DeletionMemory {
  readonly #base: DeletionMemory | null;
  readonly #noted = new Map<CollectionName, Noted>();

  constructor(base: DeletionMemory | null = null) {
    this.#base = base;
  }

  /** Drops the own changes for a collection. */
  discard(collection: CollectionName): void {
    this.#noted.delete(collection);
  }

  async missing(collection: CollectionName): Promise<Missing | null> {
    const noted = this.#noted.get(collection)?.missing;
    return noted === undefined ? ((await this.#base?.missing(collection)) ?? null) : noted;
  }

  async setMissing(collection: CollectionName, missing: Missing | null): Promise<void> {
    this.#of(collection).missing = missing && { ...missing, keys: new Map(missing.keys) };
  }

  async dropMissing(collection: CollectionName, keys: readonly string[]): Promise<void> {
    const noted = this.#noted.get(collection)?.missing;
    const missing = noted === undefined ? await this.missing(collection) : noted;
    if (missing === null) return;
    const left = new Map(missing.keys);
    for (const key of keys) left.delete(key);
    this.#of(collection).missing = { ...missing, keys: left };
  }

  async notOffered(): Promise<ReadonlySet<CollectionName>> {
    const found = new Set(await this.#base?.notOffered());
    for (const [collection, { isNotOffered }] of this.#noted) {
      if (isNotOffered === true) found.add(collection);
      else if (isNotOffered === false) found.delete(collection);
    }
    return found;
  }

  async setNotOffered(collection: CollectionName, isNotOffered: boolean): Promise<void> {
    this.#of(collection).isNotOffered = isNotOffered;
  }

  #of(collection: CollectionName): Noted {
    const noted = this.#noted.get(collection) ?? {};
    this.#noted.set(collection, noted);
    return noted;
  }
}
