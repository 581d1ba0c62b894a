import type { CollectionName } from '../model/collections.ts';
import { forgetDeletions } from './forget-deletions.ts';
import { areasOf, type TenantState } from './index-store.ts';
import { OverlayDeletions } from './overlay-deletions.ts';
import { OverlayIndex } from './overlay-index.ts';

/**
 * The memory of a tenant for a reader who must change nothing: what another process keeps, with changes in memory on
 * top. To be used in place of the tenant's own.
 */
export class OverlayState implements TenantState {
  readonly deletions: OverlayDeletions;
  readonly #live: TenantState;
  readonly #tenantId: string;
  readonly #indexes = new Map<CollectionName, OverlayIndex>();

  constructor(live: TenantState, tenantId: string) {
    this.#live = live;
    this.#tenantId = tenantId;
    this.deletions = new OverlayDeletions(live.deletions);
  }

  /**
   * Starts over with the indexes of these collections as they are now. To be called before the log's progress is read:
   * an index that is a little behind is read on, one that is ahead of what was read would count as unknown.
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

  collection(name: CollectionName): OverlayIndex {
    const index = this.#indexes.get(name) ?? this.#overlay(name, null);
    this.#indexes.set(name, index);
    return index;
  }

  async forget(name: CollectionName): Promise<void> {
    this.#indexes.set(name, this.#overlay(name, null));
    await forgetDeletions(this.deletions, name);
  }

  #overlay(name: CollectionName, base: ConstructorParameters<typeof OverlayIndex>[0]['base']): OverlayIndex {
    return new OverlayIndex({ name: `${this.#tenantId}/${name}`, areas: areasOf(name), base });
  }
}
