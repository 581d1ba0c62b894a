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

/** One collection's index in the memory of this process. */
export class MemoryIndex implements CollectionIndex {
  readonly #name: string;
  /** Values are Latin-1 strings: they take a third of a Buffer's memory and do not keep a page's memory alive. */
  readonly #areas: ReadonlyMap<IndexArea, Map<string, string>>;
  #position: IndexPosition | null = null;
  #replay: object | null = null;

  /** `name`: tenant and collection, for errors. */
  constructor(name: string, areas: readonly IndexArea[]) {
    this.#name = name;
    this.#areas = new Map(areas.map((area) => [area, new Map()]));
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
    this.#write(changes);
    this.#position = position;
    this.#replay = null;
  }

  async count(area: IndexArea): Promise<number> {
    return memberOf(this.#areas, area).size;
  }

  async *keys(area: IndexArea): AsyncGenerator<readonly string[]> {
    for await (const batch of this.entries(area)) yield batch.map(([key]) => key);
  }

  async *entries(area: IndexArea): AsyncGenerator<readonly IndexEntry[]> {
    const values = memberOf(this.#areas, area);
    let batch: IndexEntry[] = [];
    // As many as there are now: a Map that grows meanwhile must not make this endless.
    for (const [key, value] of values.entries().take(values.size)) {
      batch.push([key, Buffer.from(value, 'latin1')]);
      if (batch.length < ENTRIES_AT_ONCE) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  }

  async rebuild(): Promise<IndexReplay> {
    for (const values of this.#areas.values()) values.clear();
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
        this.#write(changes);
      },
      lookup: async (area, keys) => this.#valuesOf(area, keys),
      entries: (area) => this.entries(area),
      finish: async (position) => {
        requireCurrent();
        this.#position = position;
        this.#replay = null;
      },
    };
  }

  #valuesOf(area: IndexArea, keys: readonly string[]): IndexValues {
    const values = memberOf(this.#areas, area);
    return keys.map((key) => {
      const value = values.get(key.toWellFormed());
      return value === undefined ? null : Buffer.from(value, 'latin1');
    });
  }

  #requireAt(transactionId: string | null): void {
    const isThere =
      transactionId === null
        ? this.#position === null && this.#areas.values().every(({ size }) => size === 0)
        : this.#position?.transactionId === transactionId;
    if (!isThere) throw indexDiverged(this.#name);
  }

  #write(changes: readonly IndexChange[]): void {
    for (const [area, latest] of latestChanges(this.#areas.keys(), changes)) {
      const values = memberOf(this.#areas, area);
      for (const [key, value] of latest) {
        if (value === null) values.delete(key);
        else values.set(key, value.toString('latin1'));
      }
    }
  }
}
