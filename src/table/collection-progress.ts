import type { RollcallError } from '../errors.ts';
import type { ChainCollection, CollectionName } from '../model/collections.ts';
import {
  allOffsets,
  offsetsOf,
  STATE_COMPLETE,
  type DeletionState,
  type Offsets,
  type Progress,
} from '../model/progress.ts';
import {
  derivedProgress,
  endsFirstLoad,
  nextProgress,
  type DerivedRows,
  type Settled,
} from './next-progress.ts';
import type { SyncStats } from '../core/sync-stats.ts';

/** The state of log and index at the start of the writer. */
export interface WriterStart {
  readonly progress: Progress | null;
  /** The progress of derived collections; null when none is committed. */
  readonly derived?: ReadonlyMap<ChainCollection, Progress | null> | undefined;
  /** The transaction that the index reflects. */
  readonly indexed: string;
  /** Whether `absence-state` holds the complete index of absences. */
  readonly isChangelogComplete?: boolean | undefined;
  /** Whether the first load of `absence-changes` is over in its present topic. */
  readonly isFirstLoadOver?: boolean | undefined;
  /** Why the collection needs a decision before it can go on; its index is not at the end of the log then. */
  readonly lost?: RollcallError | undefined;
  /** Last data offsets, which the progress also has unless it was lost. */
  readonly offsets: Offsets;
  /** First offsets of partitions that do not begin at 0. */
  readonly firstOffsets?: Offsets | undefined;
  readonly knownRows: number;
  readonly knownRejects: number;
}

/** What the log holds of a collection and of those derived from it, as of the last commit. */
export class CollectionProgress {
  readonly #collection: CollectionName;
  /** Id of the mapping in force. */
  readonly mapping: string | null;
  readonly #offsetsAtStart: Offsets;
  #last: Progress | null = null;
  #derived: ReadonlyMap<ChainCollection, Progress | null> = new Map();
  #firstOffsets: Offsets | undefined;
  #isFirstLoadOver = false;
  #isChangelogComplete = false;
  #lost: RollcallError | undefined;
  #settled: Settled | null = null;

  constructor(collection: CollectionName, mapping: string | null, start: WriterStart) {
    this.#collection = collection;
    this.mapping = mapping;
    this.#offsetsAtStart = start.offsets;
    this.restart(start);
  }

  /** The log was read again. */
  restart(start: WriterStart): void {
    this.#last = start.progress;
    this.#derived = start.derived ?? this.#derived;
    this.#isFirstLoadOver = start.isFirstLoadOver ?? this.#isFirstLoadOver;
    this.#isChangelogComplete = start.isChangelogComplete ?? false;
    this.#firstOffsets = start.firstOffsets;
    this.#lost = start.lost;
    this.#settled = null;
  }

  /** The record of the last transaction; null if none was ever committed. */
  get last(): Progress | null {
    return this.#last;
  }

  /** The progress of the collections derived from this one; null if none was ever committed. */
  get derived(): readonly (Progress | null)[] {
    return [...this.#derived.values()];
  }

  /** Last committed offsets in every topic that this collection's transactions write to. */
  get offsets(): Offsets {
    return this.offsetsAfter([this.#last, ...this.#derived.values()]);
  }

  /** {@link offsets} after a transaction. The index reflects all rejects up to some offset, also those of others. */
  offsetsAfter(progress: readonly (Progress | null)[]): Offsets {
    return allOffsets([{ offsets: offsetsOf(this.#offsetsAtStart, 'rejects') }, ...progress]);
  }

  /** Why the collection needs a decision before it can go on. */
  get lost(): RollcallError | undefined {
    return this.#lost;
  }

  /** First offsets of partitions that do not begin at 0. */
  get firstOffsets(): Offsets | undefined {
    return this.#firstOffsets;
  }

  /** Sequence number of the next transaction. */
  get nextSequence(): number {
    return (this.#last?.sequence ?? 0) + 1;
  }

  /** Whether the first load of absences is over: later events are news, not snapshots. */
  get isFirstLoadOver(): boolean {
    return this.#isFirstLoadOver;
  }

  /** Whether `absence-state` holds the complete index of absences. */
  get isChangelogComplete(): boolean {
    return this.#isChangelogComplete;
  }

  /** The next transaction records that the changelog is complete. */
  markChangelogComplete(): void {
    this.#isChangelogComplete = true;
  }

  /**
   * Start of the last complete full sync of everything that this collection's transactions publish, hub time, ms since
   * the epoch; null: never.
   */
  get completeSinceMs(): number | null {
    const all = [this.#last, ...this.#derived.values()].map((each) => each?.lastCompleteFull ?? null);
    return all.includes(null) ? null : (this.#last?.lastCompleteFull?.startedAtMs ?? null);
  }

  /**
   * Whether rows were published under another mapping: they may hold data that the mapping in force drops or
   * pseudonymises.
   */
  get isMappingNew(): boolean {
    return this.#last !== null && (this.#last.mapping ?? null) !== this.mapping;
  }

  get settled(): Settled {
    return this.#settled ?? { deletions: this.#last?.deletions, rowsWithheld: this.#last?.rowsWithheld ?? 0 };
  }

  /** From now on each transaction records what a full sync has settled, whichever sync commits it: it may hold removals. */
  settle(deletions: DeletionState, rowsWithheld: number): void {
    this.#settled = { deletions, rowsWithheld };
  }

  /** The record of the next transaction. */
  next(
    options: Pick<Parameters<typeof nextProgress>[0], 'transactionId' | 'stats' | 'completion'>,
  ): Progress {
    const { deletions, rowsWithheld } = this.settled;
    const before = this.#last?.deletions;
    // Until the last transaction of the sync that settled them, the remembered rows are those of the sync before; but of a
    // hold that begins they say nothing, and a crash before that transaction loses its list.
    const isItsEnd = options.completion !== null && options.stats.syncId === deletions?.settledBy;
    const isNewHold = deletions?.heldSinceMs != null && deletions.heldSinceMs !== before?.heldSinceMs;
    const settledBy = isItsEnd || isNewHold ? deletions.settledBy : (before?.settledBy ?? '');
    return nextProgress({
      ...options,
      settled: { deletions: deletions && { ...deletions, settledBy }, rowsWithheld },
      collection: this.#collection,
      before: this.#last,
      offsetsAtStart: this.#offsetsAtStart,
      sequence: this.nextSequence,
      mapping: this.mapping,
      absenceState: this.#isChangelogComplete ? STATE_COMPLETE : undefined,
    });
  }

  /** The records of the derived collections in the next transaction. `rows`: number of keys of each after it. */
  nextDerived(next: Progress, { chains }: SyncStats, rows: DerivedRows): readonly Progress[] {
    return derivedProgress({
      next,
      before: this.#derived,
      offsetsAtStart: this.#offsetsAtStart,
      tally: chains,
      isFirstLoadOver: this.#isFirstLoadOver,
      rows,
    });
  }

  /** A collection was published again, under an id that the registry knows. Returns whether it had lost ids. */
  forgetLostSchemas(collection: CollectionName): boolean {
    const ofIt = [this.#last, ...this.#derived.values()].find((each) => each?.collection === collection);
    if ((ofIt?.schemaIds?.length ?? 0) < 2) return false;
    const cured = (each: Progress | null) =>
      each?.collection === collection ? { ...each, schemaIds: each.schemaIds?.slice(0, 1) } : each;
    this.#last = cured(this.#last);
    this.#derived = new Map([...this.#derived].map(([name, each]) => [name, cured(each)]));
    return true;
  }

  committed(progress: Progress, derived: readonly Progress[]): void {
    this.#last = progress;
    this.#derived = new Map(derived.map((each) => [each.collection as ChainCollection, each]));
    this.#isFirstLoadOver ||= endsFirstLoad(derived);
  }
}
