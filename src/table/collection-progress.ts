import type { RollcallError } from '../errors.ts';
import {
  DERIVED_COLLECTIONS,
  STATE_TOPIC,
  type DerivedCollection,
  type CollectionName,
} from '../model/collections.ts';
import {
  allOffsets,
  isFirstLoadOver,
  offsetsOf,
  offsetsWithout,
  SEVERAL_MAPPINGS,
  STATE_COMPLETE,
  type Offsets,
  type Progress,
} from '../model/progress.ts';
import type { SyncStats } from '../core/sync-stats.ts';
import type { ActiveSync } from './active-sync.ts';

/**
 * What a transaction records of the end of its sync.
 * - `none`: nothing. The sync goes on, or ends without anything to record.
 * - `incomplete`: a full sync has ended, and has not proven that it saw everything. The watermark stays. The missing
 * rows that the sync settled, if any, are remembered after the commit.
 * - `complete`: the sync has ended, and moves the watermark. `isWhole`: it was a full sync, and read every scope.
 */
export type Completion =
  | { readonly kind: 'none' | 'incomplete' }
  | { readonly kind: 'complete'; readonly watermarkMs: number | null; readonly isWhole: boolean };

/** Number of keys of each derived collection. */
export type DerivedRows = Readonly<Record<DerivedCollection, number>>;

/** Rejects, rows on hold, and rows that were not found belong to the source collection. */
const NO_ROWS_OF_ITS_OWN = { rowsRejected: 0, rowsOnHold: 0 } as const;
const ALL_FOUND = { ...NO_ROWS_OF_ITS_OWN, rowsNotFound: 0, rowsWithoutId: 0 } as const;

/** The state of log and index at the start of the writer. */
export interface WriterStart {
  readonly progress: Progress | null;
  /** The progress of derived collections; null when none is committed. */
  readonly derived?: ReadonlyMap<DerivedCollection, Progress | null> | undefined;
  /** The transaction that the index reflects. */
  readonly indexed: string;
  /** Whether `absence-state` holds the complete index of absences. */
  readonly isChangelogComplete?: boolean | undefined;
  /** Whether the first load of `absence-changes` is over in its present topic. */
  readonly isFirstLoadOver?: boolean | undefined;
  /** Why the collection needs a decision before it can go on. Its index is then not at the end of the log. */
  readonly lost?: RollcallError | undefined;
  /** The last offsets with data in each topic. They are also in `progress`, unless `progress` was lost. */
  readonly offsets: Offsets;
  /** First offsets of partitions that do not begin at 0. */
  readonly firstOffsets?: Offsets | undefined;
  readonly knownRows: number;
  readonly knownRejects: number;
}

/** The next transaction. `deletions`, `rowsOnHold`: what it records about missing rows. */
interface NextTransaction extends Pick<Progress, 'deletions' | 'rowsOnHold'> {
  readonly transactionId: string;
  readonly sync: Pick<ActiveSync, 'stats'>;
  /** The number of keys in the topic after the transaction. */
  readonly knownRows: number;
  readonly completion: Completion;
}

/** What the log holds of a collection, and of the collections derived from it, as of the last commit. */
export class CollectionProgress {
  readonly #collection: CollectionName;
  /** Id of the mapping in force. */
  readonly mapping: string | null;
  #start: WriterStart;
  #last: Progress | null = null;
  #derived: ReadonlyMap<DerivedCollection, Progress | null> = new Map();
  #isFirstLoadOver = false;
  /** Whether `absence-state` holds the complete index of absences. The next transaction records it. */
  isChangelogComplete = false;

  constructor(collection: CollectionName, mapping: string | null, start: WriterStart) {
    this.#collection = collection;
    this.mapping = mapping;
    this.#start = start;
    this.restart(start);
  }

  /** The log was read again: the writer continues from what it says. */
  restart(start: WriterStart): void {
    this.#start = start;
    this.#last = start.progress;
    this.#derived = start.derived ?? this.#derived;
    this.#isFirstLoadOver = start.isFirstLoadOver ?? this.#isFirstLoadOver;
    this.isChangelogComplete = start.isChangelogComplete ?? false;
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

  /**
   * {@link offsets} after a transaction. They begin with the offsets of `rejects` at the start of the writer, because the index
   * reflects `rejects` up to there, including the rejects of other collections.
   */
  offsetsAfter(progress: readonly (Progress | null)[]): Offsets {
    return allOffsets([{ offsets: offsetsOf(this.#start.offsets, 'rejects') }, ...progress]);
  }

  /** Why the collection needs a decision before it can go on. */
  get lost(): RollcallError | undefined {
    return this.#start.lost;
  }

  /** First offsets of partitions that do not begin at 0. */
  get firstOffsets(): Offsets | undefined {
    return this.#start.firstOffsets;
  }

  /** Whether the first load of absences is over: later events are news, not snapshots. */
  get isFirstLoadOver(): boolean {
    return this.#isFirstLoadOver;
  }

  /**
   * When the last complete full sync began that covered everything that this collection's transactions publish; hub
   * time, ms since the epoch. Null: there was none.
   */
  get completeSinceMs(): number | null {
    const all = [this.#last, ...this.#derived.values()].map((each) => each?.lastCompleteFull ?? null);
    return all.includes(null) ? null : (this.#last?.lastCompleteFull?.startedAtMs ?? null);
  }

  /**
   * Whether rows were published under another mapping. They may hold data that the mapping in force drops or
   * pseudonymises.
   */
  get isMappingNew(): boolean {
    return this.#last !== null && (this.#last.mapping ?? null) !== this.mapping;
  }

  /** The record of the next transaction; the commit adds the transaction's own offsets. */
  next(transaction: NextTransaction): Progress {
    const { transactionId, sync, knownRows, completion, deletions, rowsOnHold } = transaction;
    const { stats } = sync;
    const before = this.#last;
    const done = completion.kind === 'complete' ? completion : null;
    // Other collections' rejects belong to their own progress.
    const own = offsetsWithout(this.#start.offsets, [...DERIVED_COLLECTIONS, STATE_TOPIC, 'rejects']);
    const offsets = { ...own, ...before?.offsets };
    const isWhole = done?.isWhole === true;
    const { syncId, mode, startedAtMs, totalAtStart, totalAtEnd } = stats;
    const { rowsSeen, rowsRejected, rowsRemoved, rowsNotFound, rowsWithoutId } = stats;
    const counts = { rowsSeen, rowsRejected, rowsRemoved, totalAtStart, totalAtEnd };
    const found = { rows: knownRows - rowsNotFound, rowsNotFound, rowsRejected, rowsWithoutId };
    // If this sync could not settle a hold, `rowsOnHold` is the number of an earlier sync. Only rows that are missing
    // now can be on hold.
    const stillOnHold = Math.min(rowsOnHold, rowsNotFound);
    const isOfOne = before === null || isWhole || (before.mapping ?? null) === this.mapping;
    return {
      collection: this.#collection,
      sequence: (before?.sequence ?? 0) + 1,
      transactionId,
      syncId,
      mode,
      complete: done !== null,
      startedAtMs,
      ...counts,
      rowsPublished: stats.rowsCreated + stats.rowsUpdated,
      // The watermark may go back: a hub's clock that ran ahead and was corrected would otherwise hide changes.
      watermarkMs: done === null ? (before?.watermarkMs ?? null) : done.watermarkMs,
      offsets,
      lastCompleteFull: isWhole
        ? { syncId, startedAtMs, ...found, rowsOnHold: stillOnHold, offsets }
        : (before?.lastCompleteFull ?? null),
      lifeId: before?.lifeId ?? null,
      firstLoad: isWhole ? undefined : before?.firstLoad,
      mapping: isOfOne ? this.mapping : SEVERAL_MAPPINGS,
      absenceState: this.isChangelogComplete ? STATE_COMPLETE : undefined,
      schemaIds: before?.schemaIds,
      deletions,
      rowsOnHold,
    };
  }

  /**
   * The records of the derived collections in the same transaction. `rows`: the number of keys of each of them, if the
   * transaction ends a complete full sync; otherwise null.
   */
  nextDerived(next: Progress, { absences: tally }: SyncStats, rows: DerivedRows | null): readonly Progress[] {
    const published: DerivedRows = {
      'absence-changes': tally.created + tally.replaced + tally.deleted + tally.restored,
      absences: tally.shown,
    };
    const removed: DerivedRows = { 'absence-changes': tally.forgotten, absences: tally.hidden };
    return [...this.#derived].map(([collection, last]): Progress => {
      const offsets = { ...offsetsOf(this.#start.offsets, collection), ...last?.offsets };
      const lastCompleteFull =
        rows !== null && next.lastCompleteFull !== null
          ? { ...next.lastCompleteFull, ...ALL_FOUND, rows: rows[collection], offsets }
          : (last?.lastCompleteFull ?? null);
      return Object.assign({}, next, {
        collection,
        rowsPublished: published[collection],
        rowsRemoved: removed[collection],
        ...NO_ROWS_OF_ITS_OWN,
        offsets,
        lastCompleteFull,
        lifeId: last?.lifeId ?? null,
        absenceState: undefined,
        schemaIds: last?.schemaIds,
        deletions: undefined,
        firstLoad: this.#isFirstLoadOver && collection === 'absence-changes' ? 'over' : undefined,
      });
    });
  }

  /** A collection has been published again, under an id that the registry knows. Returns whether it had lost ids. */
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
    this.#derived = new Map(derived.map((each) => [each.collection as DerivedCollection, each]));
    const changes = derived.find((each) => each.collection === 'absence-changes');
    this.#isFirstLoadOver ||= changes !== undefined && isFirstLoadOver(changes);
  }
}
