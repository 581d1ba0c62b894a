import { areasOf } from '../../../src/state/index-store.ts';
import type {
  CollectionIndex,
  IndexArea,
  IndexChange,
  IndexEntry,
  IndexPosition,
  IndexReplay,
} from '../../../src/state/index-store.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from './surroundings.ts';

type Contents = Readonly<Record<IndexArea, Map<string, Buffer>>>;

interface Snapshot {
  readonly position: IndexPosition;
  readonly contents: Contents;
}

const KEYS_AT_ONCE = 7;

/**
 * An index as in Redis: it outlives the processes, which share it. Every call may fail before it does anything, and a
 * write may also fail after it was done. It may be flushed at any time, or restored from any earlier state.
 */
export class SimulatedIndex implements CollectionIndex {
  readonly #at: Surroundings;
  readonly #snapshots: Snapshot[] = [];
  #contents = emptyContents();
  #position: IndexPosition | null = null;
  #replay: object | null = null;

  constructor(at: Surroundings) {
    this.#at = at;
  }

  get contents(): Contents {
    return this.#contents;
  }

  flush(): void {
    this.#contents = emptyContents();
    this.#position = null;
    this.#replay = null;
  }

  /** Does nothing while no snapshot was taken that may be restored. */
  restore(mayBe: (position: IndexPosition) => boolean = () => true): void {
    const snapshots = this.#snapshots.filter((snapshot) => mayBe(snapshot.position));
    if (snapshots.length === 0) return;
    const { position, contents } = this.#at.random.pick(snapshots);
    this.#contents = copyOf(contents);
    this.#position = position;
    this.#replay = null;
  }

  async position(): Promise<IndexPosition | null> {
    this.#mayFail();
    return this.#position;
  }

  async lookup(
    area: IndexArea,
    keys: readonly string[],
    expected: string | null,
  ): Promise<readonly (Buffer | null)[]> {
    await dawdle(this.#at, 2);
    this.#mayFail();
    this.#requireAt(expected);
    return keys.map((key) => this.#contents[area].get(key) ?? null);
  }

  async apply(
    previous: string | null,
    position: IndexPosition,
    changes: readonly IndexChange[],
  ): Promise<void> {
    await dawdle(this.#at, 2);
    this.#mayFail();
    this.#requireAt(previous);
    this.#change(changes);
    this.#position = position;
    if (this.#at.random.chance(0.2)) this.#snapshots.push({ position, contents: copyOf(this.#contents) });
    this.#mayFail();
  }

  async count(area: IndexArea): Promise<number> {
    return this.#contents[area].size;
  }

  async *keys(area: IndexArea): AsyncGenerator<readonly string[]> {
    for await (const batch of this.entries(area)) yield batch.map(([key]) => key);
  }

  async *entries(area: IndexArea): AsyncGenerator<readonly IndexEntry[]> {
    const keys = [...this.#contents[area].keys()];
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
      await dawdle(this.#at, 1);
      yield keys.slice(from, from + KEYS_AT_ONCE).flatMap((key) => {
        const value = this.#contents[area].get(key);
        return value === undefined ? [] : [[key, value] as const];
      });
    }
  }

  async rebuild(): Promise<IndexReplay> {
    this.#mayFail();
    this.flush();
    return this.#beginReplay();
  }

  async resume(from: IndexPosition): Promise<IndexReplay> {
    this.#mayFail();
    this.#requireAt(from.transactionId);
    return this.#beginReplay();
  }

  #beginReplay(): IndexReplay {
    const token = {};
    this.#replay = token;
    this.#position = null;
    const requireCurrent = (): void => {
      this.#mayFail();
      if (this.#replay !== token) throw simulatedError('INDEX_DIVERGED');
    };
    return {
      write: async (changes) => {
        requireCurrent();
        this.#change(changes);
      },
      lookup: async (area, keys) => {
        this.#mayFail();
        return keys.map((key) => this.#contents[area].get(key) ?? null);
      },
      entries: (area) => this.entries(area),
      finish: async (position) => {
        requireCurrent();
        this.#position = position;
        this.#replay = null;
      },
    };
  }

  #change(changes: readonly IndexChange[]): void {
    for (const { area, key, value } of changes) {
      if (value === null) this.#contents[area].delete(key);
      else this.#contents[area].set(key, value);
    }
  }

  #requireAt(transactionId: string | null): void {
    if ((this.#position?.transactionId ?? null) !== transactionId) throw simulatedError('INDEX_DIVERGED');
  }

  #mayFail(): void {
    if (strikes(this.#at, 0.02)) throw simulatedError('INDEX_UNREACHABLE');
  }
}

function emptyContents(): Contents {
  return contentsOf(() => new Map());
}

function copyOf(contents: Contents): Contents {
  return contentsOf((area) => new Map(contents[area]));
}

function contentsOf(make: (area: IndexArea) => Map<string, Buffer>): Contents {
  return Object.fromEntries(areasOf('absence-versions').map((area) => [area, make(area)])) as Contents;
}
