import { RollcallError } from '../errors.ts';
import type { Offsets } from '../model/progress.ts';
import type { CollectionIndex, IndexArea, IndexPosition } from './index-store.ts';

/** How often in a row a read follows an index to a new position without a change. */
const FOLLOWED_AT_MOST = 5;

/**
 * Another process's index at one point of the log. The owner commits a transaction for every sync, even if it changes
 * nothing. This class follows such a transaction, and throws `INDEX_DIVERGED` for any other.
 */
export class LiveBase {
  readonly #index: CollectionIndex;
  #at: IndexPosition;
  /** The last transaction that the reader has read from the log itself. */
  #replayedTo: string | null = null;

  constructor(index: CollectionIndex, at: IndexPosition) {
    this.#index = index;
    this.#at = at;
  }

  /** Also accepts an index at this transaction, whose changes the reader knows. */
  noteReplay(transactionId: string): void {
    this.#replayedTo = transactionId;
  }

  async lookup(area: IndexArea, keys: readonly string[]): Promise<readonly (Buffer | null)[]> {
    for (let followed = 0; ; followed += 1) {
      try {
        return await this.#index.lookup(area, keys, this.#at.transactionId);
      } catch (error) {
        const isMoved = error instanceof RollcallError && error.code === 'INDEX_DIVERGED';
        if (!isMoved || followed === FOLLOWED_AT_MOST || !(await this.#follow())) throw error;
      }
    }
  }

  count(area: IndexArea): Promise<number> {
    return this.#index.count(area);
  }

  entries(area: IndexArea): ReturnType<CollectionIndex['entries']> {
    return this.#index.entries(area);
  }

  keys(area: IndexArea): ReturnType<CollectionIndex['keys']> {
    return this.#index.keys(area);
  }

  async #follow(): Promise<boolean> {
    const now = await this.#index.position();
    if (now === null) return false;
    const isAsRead = now.transactionId === this.#replayedTo || areEqual(now.offsets, this.#at.offsets);
    if (isAsRead) this.#at = now;
    return isAsRead;
  }
}

/** Whether offsets are equal, so that no record of the collection was published in between. */
function areEqual(one: Offsets, other: Offsets): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
