import type { Change, KeyedRow } from '../core/row-changes.ts';
import { hasSeen, type ActiveSync } from './active-sync.ts';
import type { FoundKeys, Table } from './table.ts';
import type { TaskQueue } from './task-queue.ts';

/** What is published of a collection, by its index and the staged changes. The writer runs no other task while it reads. */
export class KnownRows {
  readonly #table: Table;
  readonly #queue: TaskQueue;

  constructor(table: Table, queue: TaskQueue) {
    this.#table = table;
    this.#queue = queue;
  }

  get rows(): number {
    return this.#table.knownRows;
  }

  get rejects(): number {
    return this.#table.knownRejects;
  }

  /** Number of rows that a sync can read: without those that {@link countWanted} has counted as unwanted. */
  get wantedRows(): number {
    return this.#table.wantedRows;
  }

  /** Whether the configuration still wants a key. No sync reads an unwanted row, and that is no loss. */
  isWanted(key: string): boolean {
    return this.#table.isWanted(key);
  }

  /** Returns {@link wantedRows}; the first call reads the keys of the index. */
  async countWanted(): Promise<number> {
    await this.#queue.run(() => this.#table.countWanted());
    return this.wantedRows;
  }

  /** Returns those of the keys that are rows of the collection. */
  among(keys: readonly string[]): Promise<readonly string[]> {
    return this.#queue.run(() => this.#table.knownAmong(keys));
  }

  /** Returns up to `count` keys of rows that pass a test, as of the last commit. It does not wait for other tasks. */
  someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    return this.#table.someKeys(count, test);
  }

  /** Returns the decoded rows that differ from the known content of their keys; rows with unknown keys are left out. */
  differing(rows: readonly KeyedRow[]): Promise<KeyedRow[]> {
    return this.#queue.run(() => this.#table.differing(rows));
  }

  /**
   * Whether a full sync has certainly read every wanted row: it has read as many rows as are known, all of them
   * readable and none stale. If false, {@link unseen} finds out by reading the whole index.
   */
  areAllSeen({ seen, seenRejects, stats }: ActiveSync): boolean {
    return seen?.size === this.wantedRows && seenRejects?.size === 0 && stats.rowsStale === 0;
  }

  /** Returns the wanted keys of the index that a sync has not read, without `except`. */
  unseen(area: Change['area'], sync: ActiveSync, except?: ReadonlySet<string>): Promise<FoundKeys> {
    const isSeen = (key: string): boolean => except?.has(key) === true || hasSeen(sync, area, key);
    return this.find(area, (key) => this.isWanted(key) && !isSeen(key));
  }

  /** Returns the keys of the index, as of the last commit, that pass a test. */
  find(area: Change['area'], test: (key: string) => boolean): Promise<FoundKeys> {
    return this.#queue.run(() => this.#table.find(area, test));
  }
}
