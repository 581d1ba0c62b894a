import { indexDiverged } from './index-errors.ts';
import type {
  CollectionIndex,
  IndexArea,
  IndexChange,
  IndexEntry,
  IndexPosition,
  IndexReplay,
} from './index-store.ts';
import { latestChanges, memberOf } from './latest-changes.ts';

const ENTRIES_AT_ONCE = 1_000;

export interface MemoryIndexOptions {
  /** Tenant and collection, for errors. */
  readonly name: string;
  readonly areas: readonly IndexArea[];
}

/** One collection's index in the memory of this process. */
export class MemoryIndex implements CollectionIndex {
  readonly #name: string;
  /** Values are Latin-1 strings: they take a third of a Buffer's memory and do not keep a page's memory alive. */
  readonly #areas: ReadonlyMap<IndexArea, Map<string, string>>;
  #position: IndexPosition | null = null;
  #replay: object | null = null;

  constructor(options: MemoryIndexOptions) {
    this.#name = options.name;
    this.#areas = new Map(options.areas.map((area) => [area, new Map()]));
  }

  async position(): Promise<IndexPosition | null> {
    return this.#position;
  }

  async lookup(
    area: IndexArea,
    keys: readonly string[],
    expected: string | null,
  ): Promise<readonly (Buffer | null)[]> {
    this.#requireAt(expected);
    return this.#valuesOf(area, keys);
  }

  async apply(
    previous: string | null,
    position: IndexPosition,
    changes: readonly IndexChange[],
  ): Promise<void> {
    this.#requireAt(previous);
    this.#change(changes);
    this.#position = copyOf(position);
    this.#replay = null;
  }

  async count(area: IndexArea): Promise<number> {
    return memberOf(this.#areas, area).size;
  }

  async *keys(area: IndexArea): AsyncGenerator<readonly string[]> {
    for (const batch of inBatches(memberOf(this.#areas, area))) yield batch.map(([key]) => key);
  }

  async *entries(area: IndexArea): AsyncGenerator<readonly IndexEntry[]> {
    for (const batch of inBatches(memberOf(this.#areas, area))) {
      yield batch.map(([key, value]) => [key, Buffer.from(value, 'latin1')] as const);
    }
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
    const requireCurrent = () => {
      if (this.#replay !== token) throw indexDiverged(this.#name);
    };
    return {
      write: async (changes) => {
        requireCurrent();
        this.#change(changes);
      },
      lookup: async (area, keys) => this.#valuesOf(area, keys),
      entries: (area) => this.entries(area),
      finish: async (position) => {
        requireCurrent();
        this.#position = copyOf(position);
        this.#replay = null;
      },
    };
  }

  #valuesOf(area: IndexArea, keys: readonly string[]): (Buffer | null)[] {
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

  #change(changes: readonly IndexChange[]): void {
    for (const [area, latest] of latestChanges(this.#areas.keys(), changes)) {
      const values = memberOf(this.#areas, area);
      for (const [key, value] of latest) {
        if (value === null) values.delete(key);
        else values.set(key, value.toString('latin1'));
      }
    }
  }
}

/** Stops after as many entries as there were at the start: a Map that grows meanwhile must not make this endless. */
export function* inBatches<T>(values: ReadonlyMap<string, T>): Generator<readonly [string, T][]> {
  let remaining = values.size;
  let batch: [string, T][] = [];
  for (const entry of values) {
    if (remaining === 0) break;
    remaining -= 1;
    batch.push(entry);
    if (batch.length === ENTRIES_AT_ONCE) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

function copyOf(position: IndexPosition): IndexPosition {
  return { ...position, offsets: { ...position.offsets } };
}
