import type { CollectionName } from '../model/collections.ts';
import { forgetDeletions } from './forget-deletions.ts';
import { areasOf, type TenantState } from './index-store.ts';
import { OverlayDeletions } from './overlay-deletions.ts';
import { MemoryIndex } from './memory-index.ts';

/**
 * The state of a tenant for a reader that must change nothing: another process's state, with changes in memory on top.
 */
export class OverlayState implements TenantState {
  readonly deletions: OverlayDeletions;
  readonly #live: TenantState;
  readonly #tenantId: string;
  readonly #indexes = new Map<CollectionName, MemoryIndex>();

  constructor(live: TenantState, tenantId: string) {
    this.#live = live;
    this.#tenantId = tenantId;
    this.deletions = new OverlayDeletions(live.deletions);
  }

  /**
   * Starts again with the current indexes of these collections. Call this before the log's progress is read: recovery
   * brings an index that is behind up to date, but an index ahead of that progress would count as unknown.
   */
  async begin(
    collections: readonly CollectionName[],
    { fromTopics }: { readonly fromTopics: (collection: CollectionName) => boolean },
  ): Promise<void> {
    for (const name of collections) {
      const index = this.#live.collection(name);
      const at = fromTopics(name) ? null : await index.position();
      this.#indexes.set(name, this.#overlay(name, at === null ? null : { index, at }));
    }
  }

  collection(name: CollectionName): MemoryIndex {
    const index = this.#indexes.get(name) ?? this.#overlay(name, null);
    this.#indexes.set(name, index);
    return index;
  }

  async forget(name: CollectionName): Promise<void> {
    this.#indexes.set(name, this.#overlay(name, null));
    await forgetDeletions(this.deletions, name);
  }

  #overlay(name: CollectionName, base: ConstructorParameters<typeof MemoryIndex>[0]['base']): MemoryIndex {
    return new MemoryIndex({ name: `${this.#tenantId}/${name}`, areas: areasOf(name), base });
  }
}
