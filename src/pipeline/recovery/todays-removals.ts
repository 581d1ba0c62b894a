import { isChainCollection, isCollectionName, type CollectionName } from '../../model/collections.ts';
import type { LoggedRecord } from '../../log/log.ts';
import type { TenantState } from '../../state/index-store.ts';
import type { Runtime } from '../tenant-parts.ts';

export interface TodaysRemovalsParts {
  readonly state: Pick<TenantState, 'deletions'>;
  /** `YYYY-MM-DD` of an instant, as the collection counts its days. */
  readonly dayOf: (collection: CollectionName, atMs: number) => string;
  readonly runtime: Runtime;
}

/**
 * Counts the removals of the day among the records of a replay. The guard needs this number even if Redis lost it.
 */
export class TodaysRemovals {
  readonly #parts: TodaysRemovalsParts;
  readonly #counts = new Map<CollectionName, number>();

  constructor(parts: TodaysRemovalsParts) {
    this.#parts = parts;
  }

  note(records: readonly LoggedRecord[]): void {
    const collection = records[0]?.topic;
    // Tombstones of schedules only mean that Rollcall no longer wants a day; the guard counts days that became empty.
    if (collection === undefined || collection === 'schedules' || !isSource(collection)) return;
    const { dayOf, runtime } = this.#parts;
    const today = dayOf(collection, runtime.now());
    for (const { value, publishedAtMs } of records) {
      if (value !== null || dayOf(collection, publishedAtMs) !== today) continue;
      this.#counts.set(collection, (this.#counts.get(collection) ?? 0) + 1);
    }
  }

  /**
   * `resumed`: collections whose records were read from the index's offsets on. If the index was restored, its deletion
   * memory is equally old and lacks these removals. If a crash left the index behind, the memory may have them already;
   * then they count twice, which makes the guard stricter that day.
   */
  async remember(resumed: ReadonlySet<CollectionName>): Promise<void> {
    const { dayOf, runtime, state } = this.#parts;
    for (const [collection, count] of this.#counts) {
      const today = dayOf(collection, runtime.now());
      const known = resumed.has(collection) ? 0 : (await state.deletions.removedOn(today)).get(collection);
      if (count > (known ?? 0)) await state.deletions.addRemoved(today, collection, count - (known ?? 0));
    }
  }
}

function isSource(topic: string): topic is CollectionName {
  return isCollectionName(topic) && !isChainCollection(topic);
}
