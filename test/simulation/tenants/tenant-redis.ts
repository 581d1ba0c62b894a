import type { CollectionName } from '../../../src/model/collections.ts';
import type {
  CollectionIndex,
  DeletionMemory,
  IndexArea,
  TenantState,
} from '../../../src/state/index-store.ts';
import { memoryState } from '../../../src/state/memory-state.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';

/** A call that changed something: of an index, of the memory of deletions, or of the replay that another call began. */
interface Note {
  readonly on: CollectionName | 'deletions' | Note;
  readonly method: string;
  readonly parameters: readonly unknown[];
}

/** What it holds, and how it came to that; replaced as a whole. */
interface Content {
  readonly state: TenantState;
  /** All changes of the state, from the beginning. */
  readonly notes: Note[];
  readonly replays: Map<Note, object>;
}

const KEYS_AT_ONCE = 7;
const SNAPSHOTS_KEPT = 60;
const WRITES = new Set(['apply', 'rebuild', 'resume', 'write', 'finish', 'setMissing']);

/**
 * The Redis of one tenant: indexes and the memory of deletions. Every call may fail before it does anything, and a write
 * may also fail after it was done. All of it together may be flushed, away, restored from any earlier state, or silently
 * fall back to a state of a moment ago.
 */
export class TenantRedis implements TenantState {
  readonly #at: Surroundings;
  readonly #snapshots: (readonly Note[])[] = [];
  #content: Content = { state: memoryState('t'), notes: [], replays: new Map() };
  #awayUntilMs = 0;
  readonly deletions: DeletionMemory;

  constructor(at: Surroundings) {
    this.#at = at;
    this.deletions = this.#frail('deletions') as DeletionMemory;
  }

  /** Its content, read without any failure. */
  get memory(): TenantState {
    return this.#content.state;
  }

  collection(name: CollectionName): CollectionIndex {
    return this.#frail(name) as CollectionIndex;
  }

  async contents(collection: CollectionName, area: IndexArea): Promise<Map<string, Buffer>> {
    const contents = new Map<string, Buffer>();
    for await (const batch of this.memory.collection(collection).entries(area))
      for (const [key, value] of batch) contents.set(key, value);
    return contents;
  }

  flush(): void {
    void this.#become([]);
  }

  /** Restores any earlier state; does nothing while there is none. */
  restore(): void {
    if (this.#snapshots.length > 0) void this.#become(this.#at.random.pick(this.#snapshots));
  }

  /** A replica without the last writes takes over. */
  failOver(): void {
    const recent = this.#snapshots.slice(-3);
    if (recent.length > 0) void this.#become(this.#at.random.pick(recent));
  }

  goAway(ms: number): void {
    this.#awayUntilMs = this.#at.time.now() + ms;
  }

  forget(): Promise<void> {
    throw new Error('no collection is purged in these histories');
  }

  /** All methods, which may fail, with a note of each change. */
  #frail(on: Note['on']): object {
    const frail = (method: string) =>
      method === 'keys' || method === 'entries'
        ? (area: IndexArea) => this.#batches(on, method, area)
        : (...parameters: unknown[]) => this.#call({ on, method, parameters });
    return new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : frail(String(name))) });
  }

  async #call(note: Note): Promise<unknown> {
    await dawdle(this.#at, note.method === 'position' ? 0 : 2);
    this.#mayFail();
    const isWrite = WRITES.has(note.method);
    const content = this.#content;
    const result = await call(targetOf(content, note.on), note);
    if (!isWrite) return result;
    content.notes.push(note);
    if (note.method === 'apply') this.#snapshot();
    this.#mayFail();
    if (note.method !== 'rebuild' && note.method !== 'resume') return result;
    content.replays.set(note, result as object);
    return this.#frail(note);
  }

  async *#batches(on: Note['on'], method: string, area: IndexArea): AsyncGenerator<readonly unknown[]> {
    const batches = call(targetOf(this.#content, on), { method, parameters: [area] });
    for await (const batch of batches as AsyncIterable<readonly unknown[]>) {
      for (let from = 0; from < batch.length; from += KEYS_AT_ONCE) {
        await dawdle(this.#at, 1);
        this.#mayFail();
        yield batch.slice(from, from + KEYS_AT_ONCE);
      }
    }
  }

  #snapshot(): void {
    if (!this.#at.random.chance(0.15)) return;
    this.#snapshots.push([...this.#content.notes]);
    if (this.#snapshots.length > SNAPSHOTS_KEPT)
      this.#snapshots.splice(this.#at.random.below(SNAPSHOTS_KEPT - 5), 1);
  }

  /** Does it all again: nothing of it waits for the clock. */
  async #become(notes: readonly Note[]): Promise<void> {
    const content: Content = { state: memoryState('t'), notes: [...notes], replays: new Map() };
    for (const note of notes) {
      const result = await call(targetOf(content, note.on), note);
      if (typeof result === 'object' && result !== null) content.replays.set(note, result);
    }
    this.#content = content;
  }

  #mayFail(): void {
    if (this.#at.trouble > 0 && this.#at.time.now() < this.#awayUntilMs)
      throw simulatedError('INDEX_UNREACHABLE');
    if (strikes(this.#at, 0.01)) throw simulatedError('INDEX_UNREACHABLE');
  }
}

function targetOf({ state, replays }: Content, on: Note['on']): object {
  if (on === 'deletions') return state.deletions;
  if (typeof on === 'string') return state.collection(on);
  const replay = replays.get(on);
  if (replay === undefined) throw simulatedError('INDEX_DIVERGED');
  return replay;
}

function call(target: object, { method, parameters }: Omit<Note, 'on'>): unknown {
  const found: unknown = Reflect.get(target, method);
  if (typeof found !== 'function') throw new Error(`the state cannot ${method}`);
  return Reflect.apply(found, target, [...parameters]) as unknown;
}
