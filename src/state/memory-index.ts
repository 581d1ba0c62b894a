import { hasCode } from '../errors.ts';
import {
  indexDiverged,
  latestChanges,
  memberOf,
  type CollectionIndex,
  type IndexArea,
  type IndexChange,
  type IndexEntry,
  type IndexPosition,
  type IndexReplay,
  type IndexValues,
} from './index-store.ts';

const ENTRIES_AT_ONCE = 1_000;
const LOOK_UP_AT_ONCE = 5_000;
/** How often in a row a look-up is repeated because another process has changed its index. */
const FOLLOWED_AT_MOST = 5;

export interface MemoryIndexOptions {
  /** Tenant and collection, for errors. */
  readonly name: string;
  readonly areas: readonly IndexArea[];
  /** Another process's index and its position at the begin, below the changes in memory; left out: everything is in memory. */
  readonly base?: { readonly index: CollectionIndex; readonly at: IndexPosition } | null | undefined;
}

/**
 * One collection's index in the memory of this process. For a reader that must change nothing, it lies on top of another
 * process's index and keeps only its own changes. A rebuild drops the index below and keeps everything in memory.
 */
export class MemoryIndex implements CollectionIndex {
  readonly #name: string;
  /**
   * Values are Latin-1 strings: they take a third of a Buffer's memory and do not keep a page's memory alive. Null: the key
   * is removed from the index below.
   */
  readonly #staged: ReadonlyMap<IndexArea, Map<string, string | null>>;
  #base: CollectionIndex | null;
  /** The transaction that the index below reflected when it was read last. */
  #baseAt: string;
  #position: IndexPosition | null;
  #replay: object | null = null;

  constructor({ name, areas, base = null }: MemoryIndexOptions) {
    this.#name = name;
    this.#staged = new Map(areas.map((area) => [area, new Map()]));
    this.#base = base?.index ?? null;
    this.#baseAt = base?.at.transactionId ?? '';
    this.#position = base === null ? null : copyOf(base.at);
  }

  async position(): Promise<IndexPosition | null> {
    return this.#position;
  }

  async lookup(area: IndexArea, keys: readonly string[], expected: string | null): Promise<IndexValues> {
    this.#requireAt(expected);
    return this.#valuesOf(area, keys);
  }

  async apply(
    previous: string | null,
    position: IndexPosition,
    changes: readonly IndexChange[],
  ): Promise<void> {
    this.#requireAt(previous);
    this.#stage(changes);
    this.#position = copyOf(position);
    this.#replay = null;
  }

  async count(area: IndexArea): Promise<number> {
    const staged = memberOf(this.#staged, area);
    const base = this.#base;
    if (base === null) return staged.size;
    let count = await base.count(area);
    const keys = [...staged.keys()];
    for (let from = 0; from < keys.length; from += LOOK_UP_AT_ONCE) {
      const some = keys.slice(from, from + LOOK_UP_AT_ONCE);
      const below = await this.#below(base, area, some);
      for (const [at, key] of some.entries())
        count += Number(staged.get(key) !== null) - Number((below[at] ?? null) !== null);
    }
    return count;
  }

  async *keys(area: IndexArea): AsyncGenerator<readonly string[]> {
    for await (const batch of this.entries(area)) yield batch.map(([key]) => key);
  }

  async *entries(area: IndexArea): AsyncGenerator<readonly IndexEntry[]> {
    const staged = memberOf(this.#staged, area);
    // The index below comes first: a key that is staged meanwhile may come twice, but cannot be missing.
    for await (const batch of this.#base?.entries(area) ?? [])
      yield batch.filter(([key]) => !staged.has(key));
    let batch: IndexEntry[] = [];
    // As many as there are now: a Map that grows meanwhile must not make this endless.
    for (const [key, value] of staged.entries().take(staged.size)) {
      if (value !== null) batch.push([key, Buffer.from(value, 'latin1')]);
      if (batch.length < ENTRIES_AT_ONCE) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  }

  async rebuild(): Promise<IndexReplay> {
    this.#base = null;
    for (const values of this.#staged.values()) values.clear();
    return this.#beginReplay();
  }

  async resume(from: IndexPosition): Promise<IndexReplay> {
    if (this.#position?.transactionId !== from.transactionId) throw indexDiverged(this.#name);
    return this.#beginReplay();
  }

  #beginReplay(): IndexReplay {
    const token = {};
    this.#replay = token;
    this.#position = null;
    const requireCurrent = (): void => {
      if (this.#replay !== token) throw indexDiverged(this.#name);
    };
    return {
      write: async (changes) => {
        requireCurrent();
        this.#stage(changes);
      },
      lookup: (area, keys) => this.#valuesOf(area, keys),
      entries: (area) => this.entries(area),
      finish: async (position) => {
        requireCurrent();
        this.#position = copyOf(position);
        this.#replay = null;
      },
    };
  }

  async #valuesOf(area: IndexArea, keys: readonly string[]): Promise<(Buffer | null)[]> {
    const staged = memberOf(this.#staged, area);
    const names = keys.map((key) => key.toWellFormed());
    // An empty list goes to the index below too, so that it checks its position.
    const unstaged = this.#base === null ? [] : names.filter((key) => !staged.has(key));
    const below = this.#base === null ? [] : await this.#below(this.#base, area, unstaged);
    let next = 0;
    return names.map((key) => {
      const value = staged.get(key);
      if (value === undefined) return below[next++] ?? null;
      return value === null ? null : Buffer.from(value, 'latin1');
    });
  }

  /** Another process's index moves on with each of its transactions: it is read as it is now. */
  async #below(base: CollectionIndex, area: IndexArea, keys: readonly string[]) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await base.lookup(area, keys, this.#baseAt);
      } catch (error) {
        const isMoved = hasCode(error, 'INDEX_DIVERGED');
        const now = isMoved && attempt <= FOLLOWED_AT_MOST ? await base.position() : null;
        if (now === null) throw error;
        this.#baseAt = now.transactionId;
      }
    }
  }

  #requireAt(transactionId: string | null): void {
    const isThere =
      transactionId === null
        ? this.#position === null &&
          this.#base === null &&
          this.#staged.values().every(({ size }) => size === 0)
        : this.#position?.transactionId === transactionId;
    if (!isThere) throw indexDiverged(this.#name);
  }

  #stage(changes: readonly IndexChange[]): void {
    for (const [area, latest] of latestChanges(this.#staged.keys(), changes)) {
      const staged = memberOf(this.#staged, area);
      for (const [key, value] of latest) {
        if (value !== null) staged.set(key, value.toString('latin1'));
        else if (this.#base === null) staged.delete(key);
        else staged.set(key, null);
      }
    }
  }
}

function copyOf(position: IndexPosition): IndexPosition {
  return { ...position, offsets: { ...position.offsets } };
}
