import type { RememberedPage } from '../core/pages/page-memory.ts';
import type { Change, KeyedRow, PageTally } from '../core/row-changes.ts';
import { STATE_TOPIC, type ChainCollection } from '../model/collections.ts';
import { allOffsets, offsetsOf, stateMark, type Offsets, type Progress } from '../model/progress.ts';
import type { Committed, OutgoingRecord, Transaction } from '../log/log.ts';
import { hasSeen, keysSeenBefore, syncWithoutScan, type ActiveSync } from './active-sync.ts';
import { AbsenceEmitter, type UnitOfWork, type ChainParts } from './chains/absence-emitter.ts';
import { changelogRecords } from './chains/changelog.ts';
import { Mutex } from './mutex.ts';
import { derivedProgress, endsFirstLoad, nextProgress } from './next-progress.ts';
import type { Republication } from './republication.ts';
import { syncEndOf, type SyncCompletion } from './sync-completion.ts';
import type { SyncStats } from './sync-stats.ts';
import { Table, type FoundKeys, type IsEnough, type RowPage, type TableParts } from './table.ts';
import type { WriterStart } from './recovery/writer-start.ts';

/** Keys to look up for removal at once: as many as fit in a transaction. */
const MAX_REMOVED_AT_ONCE = 5_000;

export interface WriterParts extends Omit<TableParts, 'hasChains'> {
  /** Commits one transaction at a time for the whole tenant. */
  readonly commit: (transaction: Transaction) => Promise<Committed>;
  /** Only for `absence-versions`: derives absences and their changes. */
  readonly chains?: ChainParts | undefined;
}

/**
 * The only place where a collection's rows become records: its {@link Table} decides, and it commits in order.
 *
 * It commits to Kafka first and then applies the changes to the index, both before the next decision (invariants 1 and
 * 2). Several syncs of one collection may share it; all tasks run one after another.
 */
export class CollectionWriter {
  readonly #parts: WriterParts;
  readonly #mutex = new Mutex();
  readonly #table: Table;
  /** The first failure of log or index. Their content is uncertain from then on, so nothing may be decided on it. */
  #failure: { readonly error: unknown } | null = null;
  readonly #offsetsAtStart: Offsets;
  #firstOffsets: Offsets | undefined;
  readonly #lastSequence: number;
  #progress: Progress | null = null;
  #derived: ReadonlyMap<ChainCollection, Progress | null> = new Map();
  #isFirstLoadOver = false;
  /** Whether `absence-state` holds the complete chain index. */
  #isChangelogComplete = false;
  readonly #chains: AbsenceEmitter | null;

  constructor(parts: WriterParts, start: WriterStart) {
    this.#parts = parts;
    this.#beginFrom(start);
    this.#offsetsAtStart = start.offsets;
    this.#lastSequence = start.lastSequence ?? 0;
    this.#table = new Table({ ...parts, hasChains: parts.chains !== undefined }, start);
    this.#chains = parts.chains === undefined ? null : new AbsenceEmitter(parts.chains, this.#unitOfWork());
  }

  #beginFrom(start: WriterStart): void {
    this.#progress = start.progress;
    this.#derived = start.derived ?? this.#derived;
    this.#isFirstLoadOver = start.isFirstLoadOver ?? this.#isFirstLoadOver;
    this.#isChangelogComplete = start.isChangelogComplete ?? false;
    this.#firstOffsets = start.firstOffsets;
  }

  get progress(): Progress | null {
    return this.#progress;
  }

  /** The progress of the collections derived from this one; null if none was ever committed. */
  get derivedProgress(): readonly (Progress | null)[] {
    return [...this.#derived.values()];
  }

  /** Last committed offsets in every topic that this writer writes to. */
  get offsets(): Offsets {
    return this.#allOffsets([this.#progress, ...this.#derived.values()]);
  }

  get firstOffsets(): Offsets | undefined {
    return this.#firstOffsets;
  }

  /**
   * Start of the last complete full sync of everything that this writer publishes, hub time, ms since the epoch; null:
   * never.
   */
  get completeSinceMs(): number | null {
    const all = [this.#progress, ...this.#derived.values()].map((each) => each?.lastCompleteFull ?? null);
    return all.includes(null) ? null : (this.#progress?.lastCompleteFull?.startedAtMs ?? null);
  }

  /**
   * Whether rows were published under another mapping: they may hold data that the mapping in force drops or
   * pseudonymises.
   */
  get isMappingNew(): boolean {
    return (
      this.#progress !== null && (this.#progress.mapping ?? null) !== (this.#parts.reader.mapping ?? null)
    );
  }

  get knownRows(): number {
    return this.#table.knownRows;
  }

  get knownRejects(): number {
    return this.#table.knownRejects;
  }

  /** Number of known rows that a sync can read: without those that {@link countWanted} has counted as unwanted. */
  get wantedRows(): number {
    return this.#table.wantedRows;
  }

  /** Whether the configuration still wants a key. No sync reads an unwanted row, and that is no loss. */
  isWanted(key: string): boolean {
    return this.#table.isWanted(key);
  }

  /** Returns {@link wantedRows}; the first call reads the keys of the index. */
  async countWanted(): Promise<number> {
    if (this.#parts.isWanted !== undefined) await this.#run(() => this.#table.countWanted());
    return this.wantedRows;
  }

  get hasPending(): boolean {
    return !this.#table.staged.isEmpty;
  }

  get isFull(): boolean {
    return this.#table.isFull;
  }

  /** Returns the current read version. A page carries the one of the time when its request was sent. */
  readonly readVersion = (): number => this.#table.readVersion;

  begin(sync: ActiveSync): void {
    this.#table.begin(sync);
  }

  end(sync: ActiveSync): void {
    this.#table.end(sync);
  }

  /** Decides a page's rows; changes are staged until {@link flush}. */
  accept(sync: ActiveSync, page: RowPage): Promise<PageTally> {
    return this.#run(() => this.#decide(sync, page, keysSeenBefore(sync, page.readings)));
  }

  /**
   * Like {@link accept}, if `isEnough` accepts the number of known rows in the page; otherwise returns null and changes
   * nothing.
   */
  acceptIf(sync: ActiveSync, page: RowPage, isEnough: IsEnough): Promise<PageTally | null> {
    return this.#run(async () => {
      const { rows, known } = await this.#table.lookUpPage(page);
      if (!isEnough(page.readings.length, known)) return null;
      return this.#decide(sync, page, keysSeenBefore(sync, page.readings), rows);
    });
  }

  /** Takes a page that was recognised, if all its rows are still unchanged; else null, and nothing is noted. */
  acceptKnown(sync: ActiveSync, page: RememberedPage, readVersion: number): Promise<PageTally | null> {
    // Where what follows from unchanged rows is asked for too, each row is decided.
    return this.#run(async () =>
      this.#chains?.republishes(sync) === true ? null : this.#table.acceptKnown(sync, page, readVersion),
    );
  }

  /** Publishes values that a sync has read and deferred to its end. */
  publish(sync: ActiveSync, readings: readonly KeyedRow[]): Promise<PageTally> {
    return this.#run(() => this.#decide(sync, { readings, readVersion: this.#table.readVersion }, new Set()));
  }

  /** Stages removals that a sync has decided on, except for keys that a sync has read since (invariant 3). */
  async remove(sync: ActiveSync, area: Change['area'], keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_REMOVED_AT_ONCE) {
      const some = keys.slice(from, from + MAX_REMOVED_AT_ONCE);
      await this.#run(() => this.#table.remove(sync, area, some));
      if (this.isFull) await this.flush(sync);
    }
  }

  /** Returns those of the keys that are rows of the collection. */
  known(keys: readonly string[]): Promise<readonly string[]> {
    return this.#run(() => this.#table.knownAmong(keys));
  }

  /** Returns up to `count` keys of rows that pass a test, as of the last commit. */
  someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    return this.#table.someKeys(count, test);
  }

  /** Returns the decoded rows that differ from the known content of their keys; rows with unknown keys are left out. */
  differing(readings: readonly KeyedRow[]): Promise<KeyedRow[]> {
    return this.#run(() => this.#table.differing(readings));
  }

  /**
   * Whether a full sync has certainly read every wanted row: it has read as many rows as are known, all of them
   * readable and none stale. If false, {@link unseen} finds out by reading the whole index.
   */
  hasSeenAll({ seen, seenRejects, stats }: ActiveSync): boolean {
    return seen?.size === this.wantedRows && seenRejects?.size === 0 && stats.rowsStale === 0;
  }

  /**
   * Returns the wanted keys of the index that a sync has not read, without `except`. The writer runs no other task
   * meanwhile.
   */
  unseen(area: Change['area'], sync: ActiveSync, except?: ReadonlySet<string>): Promise<FoundKeys> {
    const isSeen = (key: string): boolean => except?.has(key) === true || hasSeen(sync, area, key);
    return this.find(area, (key) => this.isWanted(key) && !isSeen(key));
  }

  /**
   * Returns the keys of the index, as of the last commit, that pass a test. The writer runs no other task meanwhile.
   */
  find(area: Change['area'], test: (key: string) => boolean): Promise<FoundKeys> {
    return this.#run(() => this.#table.find(area, test));
  }

  /** Commits the staged changes. Without changes it commits only the completion of a sync. */
  flush(sync: ActiveSync, completion: SyncCompletion | 'incomplete' | null = null): Promise<void> {
    return this.#run(() => this.#flush(sync, completion));
  }

  async #flush(sync: ActiveSync, completion: SyncCompletion | 'incomplete' | null): Promise<void> {
    await this.#chains?.emitChanges(sync, syncEndOf(completion));
    if (!this.#table.staged.isEmpty || completion !== null) await this.#commit(sync, completion);
  }

  /** Reads the index while no task writes or rebuilds it, so that a part of it is not taken for all of it. */
  undisturbed<T>(read: () => Promise<T>): Promise<T> {
    return this.#run(read);
  }

  /**
   * Commits the staged changes and rebuilds the index, while no other task runs. `make` must leave the index equal to
   * the log, and returns the state from which the writer continues.
   */
  reindex(make: (isFirstLoadOver: boolean) => Promise<WriterStart>): Promise<void> {
    return this.#run(async () => {
      await this.#flush(this.#syncOfItsOwn(), null);
      const start = await make(this.#isFirstLoadOver);
      this.#beginFrom(start);
      this.#table.reset(start);
      await this.#importChangelog();
    });
  }

  /** Publishes the chain index to `absence-state`, unless the topic holds it already. Called before the first sync. */
  importChangelog(): Promise<void> {
    return this.#run(() => this.#importChangelog());
  }

  async #importChangelog(): Promise<void> {
    const { chains } = this.#parts;
    if (chains === undefined || this.#isChangelogComplete) return;
    const sync = this.#syncOfItsOwn();
    let isEmpty = true;
    for await (const records of chains.importedRecords(() => this.#table.indexed)) {
      // Withdraws the mark of a lost changelog from `progress`, before `progress` has offsets of the new changelog.
      if (isEmpty && this.#progress !== null) await this.#commit(sync, null);
      isEmpty = false;
      this.#table.staged.reissue(records);
      await this.#commit(sync, null);
    }
    // The next transaction records it. For an empty index any later transaction may.
    this.#isChangelogComplete = true;
    if (!isEmpty) await this.#commit(sync, null);
  }

  /**
   * Decides rows outside a scan, under a sync of its own, and commits the changes. `republication`: rows to republish
   * even if unchanged.
   */
  async withoutScan(work: (sync: ActiveSync) => Promise<void>, republication?: Republication): Promise<void> {
    const sync = this.#syncOfItsOwn(republication);
    this.begin(sync);
    try {
      await work(sync);
      await this.flush(sync);
    } finally {
      this.end(sync);
    }
  }

  /** Creates a sync for a transaction outside a scan. */
  #syncOfItsOwn(republication?: Republication): ActiveSync {
    return syncWithoutScan(this.#parts, this, republication);
  }

  /**
   * Publishes records of derived topics that do not change the index, in one transaction, after the staged changes and
   * while no other task runs. `make` gets a function for the `ce_id` of each record. Returns the number of records, and
   * {@link offsets} after them.
   */
  reissue(
    make: (idOf: (index: number) => string) => Promise<readonly OutgoingRecord[]>,
  ): Promise<{ count: number; offsets: Offsets }> {
    return this.#run(async () => {
      const sync = this.#syncOfItsOwn();
      await this.#flush(sync, null);
      const { staged } = this.#table;
      const records = await make((index) => `${staged.transactionId}-${index}`);
      staged.reissue(records);
      if (records.length > 0) await this.#commit(sync, null);
      return { count: records.length, offsets: this.offsets };
    });
  }

  /** The offsets of the index. It reflects all rejects up to some offset, also those of other collections. */
  #allOffsets(progress: readonly (Progress | null)[]): Offsets {
    return allOffsets([{ offsets: offsetsOf(this.#offsetsAtStart, 'rejects') }, ...progress]);
  }

  async #commit(sync: ActiveSync, completion: SyncCompletion | 'incomplete' | null): Promise<void> {
    const { records, changes, transactionId, outcomes } = this.#table.staged;
    const { chains, reader } = this.#parts;
    const mapping = reader.mapping ?? null;
    const next = nextProgress({
      collection: this.#parts.collection,
      before: this.#progress,
      offsetsAtStart: this.#offsetsAtStart,
      lastSequence: this.#lastSequence,
      transactionId,
      mapping,
      absenceState: chains !== undefined && this.#isChangelogComplete ? stateMark(mapping) : undefined,
      stats: sync.stats,
      completion,
    });
    const { progress, derived, committedAtMs } = await this.#parts.commit({
      records: chains === undefined ? records : [...records, ...changelogRecords(changes)],
      progress: next,
      derived: await this.#nextDerived(next, sync.stats),
      // An incomplete changelog may have lost any of its records, so its present content counts.
      lostTopics: chains !== undefined && this.#progress?.absenceState === undefined ? [STATE_TOPIC] : [],
    });
    await this.#parts.index.apply(
      this.#table.indexed,
      {
        sequence: progress.sequence,
        transactionId: progress.transactionId,
        committedAtMs,
        offsets: this.#allOffsets([progress, ...derived]),
        firstOffsets: this.#firstOffsets,
        mapping,
        absenceState: next.absenceState,
      },
      changes,
    );
    this.#table.applied(progress.transactionId);
    this.#progress = progress;
    this.#derived = new Map(derived.map((each) => [each.collection as ChainCollection, each]));
    this.#isFirstLoadOver ||= endsFirstLoad(derived);
    for (const outcome of outcomes) chains?.onCommitted(outcome);
  }

  async #nextDerived(next: Progress, stats: SyncStats): Promise<readonly Progress[]> {
    const { chains } = this.#parts;
    if (chains === undefined) return [];
    // Only the progress record of a complete full sync has these counts.
    const rows =
      next.complete && next.mode === 'FULL'
        ? await chains.view.countRows(this.#table.staged.changes, this.#table.lookUpCommitted)
        : { absences: 0, 'absence-changes': 0 };
    return derivedProgress({
      next,
      before: this.#derived,
      offsetsAtStart: this.#offsetsAtStart,
      tally: stats.chains,
      isFirstLoadOver: this.#isFirstLoadOver,
      rows,
    });
  }

  /** The part of this writer that the absence emitter uses. */
  #unitOfWork(): UnitOfWork {
    return {
      pending: () => this.#table.staged,
      isFull: () => this.isFull,
      commit: (sync) => this.#commit(sync, null),
      lookUp: this.#table.lookUpCommitted,
      hashesOf: (ids) => this.#table.hashesOf(ids),
      // The scan may still read these rows, with newer content.
      decide: (sync, page) => this.#decide(sync, { ...page, isAskedFor: true }, new Set()),
      readVersion: this.readVersion,
      sequence: () => (this.#progress?.sequence ?? this.#lastSequence) + 1,
      progress: () => this.#progress,
      isFirstLoadOver: () => this.#isFirstLoadOver,
      isMappingNew: () => this.isMappingNew,
      isFullSyncRunning: () => this.#table.isFullSyncRunning,
    };
  }

  #decide(
    sync: ActiveSync,
    page: RowPage & { readonly isAskedFor?: boolean },
    seenBefore: ReadonlySet<string>,
    rows?: ReadonlyMap<string, Buffer | null>,
  ): Promise<PageTally> {
    const keepsUnchanged = this.#chains?.republishes(sync) === true;
    return this.#table.decide(sync, page, { seenBefore, rows, keepsUnchanged });
  }

  /** Runs tasks one after another, and none after a failure of log or index. */
  #run<T>(task: () => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      if (this.#failure !== null) throw this.#failure.error;
      try {
        return await task();
      } catch (error) {
        this.#failure = { error };
        throw error;
      }
    });
  }
}
