import type { KeyedRow } from '../core/rows/compare-with-published.ts';
import type { Fingerprints } from '../core/seen-keys.ts';
import type { ActiveSync } from './active-sync.ts';

/** At this number of recently published keys, old ones are dropped. */
const SWEEP_AT_KEYS = 20_000;

/**
 * The syncs of a collection that run at the same time. Each of them learns which rows the others have seen, and which keys
 * were published after it had requested a page.
 */
export class RunningSyncs {
  readonly #syncs = new Set<ActiveSync>();
  /** The read version with which each key was published. */
  readonly #publishedAt = new Map<string, number>();
  /** The present read version: how much has been published. */
  readVersion = 0;

  begin(sync: ActiveSync): void {
    this.#syncs.add(sync);
  }

  end(sync: ActiveSync): void {
    this.#syncs.delete(sync);
    if (this.#syncs.size === 0) this.#publishedAt.clear();
  }

  get isFullRunning(): boolean {
    return [...this.#syncs].some(({ isFull }) => isFull);
  }

  notePublished(key: string): void {
    this.readVersion += 1;
    this.#publishedAt.set(key, this.readVersion);
  }

  /** Whether a key was published after the read version `after`, and not after the read version `until`. */
  wasPublished(key: string, after: number, until: number): boolean {
    const publishedAt = this.#publishedAt.get(key) ?? -1;
    return publishedAt > after && publishedAt <= until;
  }

  /** A sync has taken a page. It does not need to know any more what was published before the page was requested. */
  noteRead(sync: ActiveSync, readVersion: number): void {
    sync.readVersion = Math.max(sync.readVersion, readVersion);
    if (this.#publishedAt.size < SWEEP_AT_KEYS) return;
    const oldest = Math.min(...[...this.#syncs].map((each) => each.readVersion));
    for (const [key, publishedAt] of this.#publishedAt)
      if (publishedAt <= oldest) this.#publishedAt.delete(key);
  }

  /** Marks the rows of a page that need not be decoded. If one of them may have occurred before, it returns false and marks nothing. */
  markAllSeen(sync: ActiveSync, keys: Fingerprints): boolean {
    const all = [...this.#syncs].flatMap((each) => (each === sync ? each.seen : each.seenByOthers) ?? []);
    if (sync.seen.hasAny(keys)) return false;
    for (const seen of all) seen.addAll(keys);
    return true;
  }

  /**
   * Marks rows, unreadable ones included, as present for all running syncs (contract, "Deletions"). `sync`: the sync
   * whose scan read them; null when they were requested by id.
   */
  markSeen(sync: ActiveSync | null, rows: readonly KeyedRow[]): void {
    for (const active of this.#syncs) {
      const seen = active === sync ? active.seen : active.seenByOthers;
      if (seen === null) continue;
      for (const { key, rejectKey, decoded } of rows) {
        if (key !== null) seen.add(key);
        if (decoded.kind === 'reject') active.seenRejects?.add(rejectKey);
      }
    }
  }

  /** A row that was seen already has become a reject. */
  markRejected(key: string): void {
    for (const { seenRejects } of this.#syncs) seenRejects?.add(key);
  }
}
