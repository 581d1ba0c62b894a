import { areasOf } from '../../../src/state/index-store.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type {
  CollectionIndex,
  DeletionMemory,
  IndexArea,
  IndexChange,
  IndexEntry,
  IndexPosition,
  IndexReplay,
  TenantState,
} from '../../../src/state/index-store.ts';
import { MemoryDeletions } from '../../../src/state/memory-state.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';

interface IndexData {
  readonly contents: Record<IndexArea, Map<string, Buffer>>;
  position: IndexPosition | null;
  replay: object | null;
}

interface Snapshot {
  readonly indexes: ReadonlyMap<CollectionName, IndexData>;
  readonly notes: readonly Note[];
}

type Note = { readonly method: string; readonly parameters: readonly unknown[] };

const KEYS_AT_ONCE = 7;
const SNAPSHOTS_KEPT = 60;

/**
 * The Redis of one tenant: indexes and the memory of deletions. Every call may fail before it does anything, and a write
 * may also fail after it was done. All of it together may be flushed, away, restored from any earlier state, or silently
 * fall back to a state of a moment ago.
 */
export class TenantRedis implements TenantState {
  readonly #at: Surroundings;
  readonly #snapshots: Snapshot[] = [];
  #indexes = new Map<CollectionName, IndexData>();
  /** All changes of the memory, from the beginning. */
  #notes: readonly Note[] = [];
  #memory = new MemoryDeletions();
  #awayUntilMs = 0;
  readonly deletions: DeletionMemory;

  constructor(at: Surroundings) {
    this.#at = at;
    this.deletions = this.#frailDeletions();
  }

  /** Its content, read without any failure. */
  get memory(): DeletionMemory {
    return this.#memory;
  }

  contents(collection: CollectionName): Readonly<Record<IndexArea, Map<string, Buffer>>> {
    return this.#data(collection).contents;
  }

  positionOf(collection: CollectionName): IndexPosition | null {
    return this.#data(collection).position;
  }

  flush(): void {
    this.#indexes = new Map();
    this.#remember([]);
  }

  /** Restores any earlier state; does nothing while there is none. */
  restore(): void {
    if (this.#snapshots.length > 0) this.#become(this.#at.random.pick(this.#snapshots));
  }

  /** A replica without the last writes takes over. */
  failOver(): void {
    const recent = this.#snapshots.slice(-3);
    if (recent.length > 0) this.#become(this.#at.random.pick(recent));
  }

  goAway(ms: number): void {
    this.#awayUntilMs = this.#at.time.now() + ms;
  }

  forget(): Promise<void> {
    throw new Error('no collection is purged in these histories');
  }

  collection(name: CollectionName): CollectionIndex {
    const data = (): IndexData => this.#data(name);
    const entries = (area: IndexArea): AsyncGenerator<readonly IndexEntry[]> => this.#entries(name, area);
    return {
      position: async () => {
        this.#mayFail();
        return data().position;
      },
      lookup: async (area, keys, expected) => {
        await dawdle(this.#at, 2);
        this.#mayFail();
        requireAt(data(), expected);
        const values = data().contents[area];
        return keys.map((key) => values.get(key) ?? null);
      },
      apply: async (previous, position, changes) => {
        await dawdle(this.#at, 2);
        this.#mayFail();
        requireAt(data(), previous);
        change(data(), changes);
        data().position = position;
        this.#snapshot();
        this.#mayFail();
      },
      count: async (area) => {
        this.#mayFail();
        return data().contents[area].size;
      },
      async *keys(area) {
        for await (const batch of entries(area)) yield batch.map(([key]) => key);
      },
      entries,
      rebuild: async () => {
        this.#mayFail();
        this.#indexes.set(name, emptyIndex());
        return this.#beginReplay(name);
      },
      resume: async (from) => {
        this.#mayFail();
        requireAt(data(), from.transactionId);
        return this.#beginReplay(name);
      },
    };
  }

  #beginReplay(name: CollectionName): IndexReplay {
    const token = {};
    const data = (): IndexData => this.#data(name);
    data().replay = token;
    data().position = null;
    const requireCurrent = (): void => {
      this.#mayFail();
      if (data().replay !== token) throw simulatedError('INDEX_DIVERGED');
    };
    return {
      write: async (changes) => {
        requireCurrent();
        change(data(), changes);
      },
      lookup: async (area, keys) => {
        this.#mayFail();
        return keys.map((key) => data().contents[area].get(key) ?? null);
      },
      entries: (area) => this.#entries(name, area),
      finish: async (position) => {
        requireCurrent();
        data().position = position;
        data().replay = null;
      },
    };
  }

  async *#entries(name: CollectionName, area: IndexArea): AsyncGenerator<readonly IndexEntry[]> {
    const keys = [...this.#data(name).contents[area].keys()];
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
      await dawdle(this.#at, 1);
      this.#mayFail();
      yield keys.slice(from, from + KEYS_AT_ONCE).flatMap((key) => {
        const value = this.#data(name).contents[area].get(key);
        return value === undefined ? [] : [[key, value] as const];
      });
    }
  }

  /** All methods of the memory of deletions, which may fail, with a note of each change. */
  #frailDeletions(): DeletionMemory {
    return new Proxy(this.#memory, {
      get:
        (_target, name) =>
        async (...parameters: unknown[]) => {
          await dawdle(this.#at, 1);
          this.#mayFail();
          const method = String(name);
          const isWrite = /^(?:set|drop)/.test(method);
          if (isWrite) this.#notes = [...this.#notes, { method, parameters }];
          const result = await call(this.#memory, { method, parameters });
          if (isWrite) this.#mayFail();
          return result;
        },
    });
  }

  #data(name: CollectionName): IndexData {
    const known = this.#indexes.get(name) ?? emptyIndex();
    this.#indexes.set(name, known);
    return known;
  }

  #snapshot(): void {
    if (!this.#at.random.chance(0.15)) return;
    const indexes = new Map([...this.#indexes].map(([name, data]) => [name, copyOf(data)]));
    this.#snapshots.push({ indexes, notes: this.#notes });
    if (this.#snapshots.length > SNAPSHOTS_KEPT)
      this.#snapshots.splice(this.#at.random.below(SNAPSHOTS_KEPT - 5), 1);
  }

  #become({ indexes, notes }: Snapshot): void {
    this.#indexes = new Map([...indexes].map(([name, data]) => [name, copyOf(data)]));
    this.#remember(notes);
  }

  #remember(notes: readonly Note[]): void {
    this.#notes = notes;
    this.#memory = new MemoryDeletions();
    for (const note of notes) void call(this.#memory, note);
  }

  #mayFail(): void {
    if (this.#at.trouble > 0 && this.#at.time.now() < this.#awayUntilMs)
      throw simulatedError('INDEX_UNREACHABLE');
    if (strikes(this.#at, 0.01)) throw simulatedError('INDEX_UNREACHABLE');
  }
}

/** All methods of this memory act before they first wait. */
function call(memory: MemoryDeletions, { method, parameters }: Note): unknown {
  const found: unknown = Reflect.get(memory, method);
  if (typeof found !== 'function') throw new Error(`deletions cannot ${method}`);
  return Reflect.apply(found, memory, [...parameters]) as unknown;
}

function emptyIndex(): IndexData {
  return { contents: contentsOf(() => new Map()), position: null, replay: null };
}

function copyOf({ contents, position, replay }: IndexData): IndexData {
  return { contents: contentsOf((area) => new Map(contents[area])), position, replay };
}

function contentsOf(make: (area: IndexArea) => Map<string, Buffer>): IndexData['contents'] {
  return Object.fromEntries(
    areasOf('absence-versions').map((area) => [area, make(area)]),
  ) as IndexData['contents'];
}

function change({ contents }: IndexData, changes: readonly IndexChange[]): void {
  for (const { area, key, value } of changes) {
    if (value === null) contents[area].delete(key);
    else contents[area].set(key, value);
  }
}

function requireAt({ position }: IndexData, transactionId: string | null): void {
  if ((position?.transactionId ?? null) !== transactionId) throw simulatedError('INDEX_DIVERGED');
}
