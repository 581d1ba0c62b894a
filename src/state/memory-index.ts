import { indexDiverged } from './index-errors.ts';
import type { CollectionIndex, IndexArea, IndexChange, IndexPosition, IndexReplay } from './index-store.ts';
import { latestChanges } from './latest-changes.ts';

const KEYS_AT_ONCE = 1_000;

/** One collection's index in this process. Nothing in it outlives the process. */
export class MemoryIndex implements CollectionIndex {
  readonly #name: string;
  /** A hash as 16 Latin-1 characters: a third of a Buffer, and none that keeps a page's memory alive. */
  readonly #areas = { rows: new Map<string, string>(), rejects: new Map<string, string>() };
  #position: IndexPosition | null = null;
  #replay: object | null = null;

  /** `name`: tenant and collection, for errors. */
  constructor(name: string) {
    this.#name = name;
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
    const hashes = this.#areas[area];
    return keys.map((key) => {
      const hash = hashes.get(key.toWellFormed());
      return hash === undefined ? null : Buffer.from(hash, 'latin1');
    });
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
    return this.#areas[area].size;
  }

  async *keys(area: IndexArea): AsyncGenerator<readonly string[]> {
    let batch: string[] = [];
    for (const key of this.#areas[area].keys()) {
      batch.push(key);
      if (batch.length === KEYS_AT_ONCE) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  }

  async rebuild(): Promise<IndexReplay> {
    this.#areas.rows.clear();
    this.#areas.rejects.clear();
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
      finish: async (position) => {
        requireCurrent();
        this.#position = copyOf(position);
        this.#replay = null;
      },
    };
  }

  #requireAt(transactionId: string | null): void {
    const { rows, rejects } = this.#areas;
    const isThere =
      transactionId === null
        ? this.#position === null && rows.size === 0 && rejects.size === 0
        : this.#position?.transactionId === transactionId;
    if (!isThere) throw indexDiverged(this.#name);
  }

  #change(changes: readonly IndexChange[]): void {
    const latest = latestChanges(changes);
    for (const area of ['rows', 'rejects'] as const) {
      const hashes = this.#areas[area];
      for (const [key, hash] of latest[area]) {
        if (hash === null) hashes.delete(key);
        else hashes.set(key, hash.toString('latin1'));
      }
    }
  }
}

function copyOf(position: IndexPosition): IndexPosition {
  return { ...position, offsets: { ...position.offsets } };
}
