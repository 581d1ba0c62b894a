import type { Change, KeyedRow } from '../core/row-changes.ts';
import { hasSeen, type ActiveSync } from './active-sync.ts';
import type { FoundKeys, Known, Table } from './table.ts';
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

  /** Returns those of the keys that are rows of the collection. */
  among(keys: readonly string[]): Promise<readonly string[]> {
    return this.#queue.run(() => this.#table.knownAmong(keys));
  }

  /** Returns up to `count` keys of rows that pass a test, as of the last commit. It does not wait for other tasks. */
  someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    return this.#table.someKeys(count, test);
  }

  /** Returns the decoded rows by whether their keys are known, and with this content. */
  compare(rows: readonly KeyedRow[]): Promise<Partial<Record<Known, KeyedRow[]>>> {
    return this.#queue.run(() => this.#table.compare(rows));
  }

  /**
   * Whether a full sync has certainly read every known row: it has read as many rows as are known, all of them
   * readable and none stale. If false, {@link unseen} finds out by reading the whole index.
   */
  areAllSeen({ seen, seenRejects, stats }: ActiveSync): boolean {
    return seen?.size === this.rows && seenRejects?.size === 0 && stats.rowsStale === 0;
  }

  /** Returns the keys of the index that a sync has not read, and that pass a test. */
  unseen(
    area: Change['area'],
    sync: ActiveSync,
    test: (key: string) => boolean = () => true,
  ): Promise<FoundKeys> {
    return this.find(area, (key) => !hasSeen(sync, area, key) && test(key));
  }

  /** Returns the keys of the index, as of the last commit, that pass a test. */
  find(area: Change['area'], test: (key: string) => boolean): Promise<FoundKeys> {
    return this.#queue.run(() => this.#table.find(area, test));
  }
}
