import { isChainCollection, isCollectionName, type CollectionName } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import type { LoggedRecord, TenantLog } from '../log/log.ts';
import type { TenantState } from '../state/index-store.ts';

export interface TodaysRemovalsParts {
  readonly log: Pick<TenantLog, 'offsetsSince'>;
  readonly state: Pick<TenantState, 'deletions'>;
  /** `YYYY-MM-DD` of an instant, as the collection counts its days. */
  readonly dayOf: (collection: CollectionName, atMs: number) => string;
  readonly now: () => number;
}

const A_DAY_AT_MOST_MS = 25 * 3_600_000;

/**
 * Counts the removals of the day in the log. The guard needs this number even if Redis lost it, also when an older
 * state was restored together with an index that only needs the newest records.
 */
export class TodaysRemovals {
  readonly #parts: TodaysRemovalsParts;
  readonly #counts = new Map<CollectionName, number>();

  constructor(parts: TodaysRemovalsParts) {
    this.#parts = parts;
  }

  /** The offsets after which a read covers the entire day: `after`, or earlier ones. */
  async since(collection: CollectionName, after: Offsets): Promise<Offsets> {
    const { log, now } = this.#parts;
    if (Object.keys(after).length === 0) return after;
    const dayBegins = await log.offsetsSince(collection, now() - A_DAY_AT_MOST_MS);
    return Object.fromEntries(
      Object.entries(after).map(([name, offset]) => [name, Math.min(offset, (dayBegins[name] ?? 0) - 1)]),
    );
  }

  note(records: readonly LoggedRecord[]): void {
    const collection = records[0]?.topic;
    // Tombstones of schedules only mean that Rollcall no longer wants a day; the guard counts days that became empty.
    if (collection === undefined || collection === 'schedules' || !isSource(collection)) return;
    const { dayOf, now } = this.#parts;
    const today = dayOf(collection, now());
    for (const { value, publishedAtMs } of records) {
      if (value !== null || dayOf(collection, publishedAtMs) !== today) continue;
      this.#counts.set(collection, (this.#counts.get(collection) ?? 0) + 1);
    }
  }

  async remember(): Promise<void> {
    const { dayOf, now, state } = this.#parts;
    for (const [collection, count] of this.#counts) {
      const today = dayOf(collection, now());
      const known = (await state.deletions.removedOn(today)).get(collection) ?? 0;
      if (count > known) await state.deletions.addRemoved(today, collection, count - known);
    }
  }
}

function isSource(topic: string): topic is CollectionName {
  return isCollectionName(topic) && !isChainCollection(topic);
}
