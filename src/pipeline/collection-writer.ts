import type { Change, KeyedRow, PageTally } from '../core/row-changes.ts';
import { STATE_TOPIC, type ChainCollection } from '../model/collections.ts';
import { allOffsets, offsetsOf, stateMark, type Offsets, type Progress } from '../model/progress.ts';
import type { Committed, OutgoingRecord, Transaction } from '../log/log.ts';
import { hasMet, metIn, type ActiveSync } from './active-sync.ts';
import { AbsenceEmitter, type UnitOfWork, type ChainParts } from './chains/absence-emitter.ts';
import { changelogRecords } from './chains/changelog.ts';
import { Mutex } from './mutex.ts';
import { derivedProgress, endsFirstLoad, nextProgress } from './next-progress.ts';
import type { Republication } from './republication.ts';
import { syncEndOf, type SyncCompletion } from './sync-completion.ts';
import { newSyncStats, type SyncStats } from './sync-stats.ts';
import { Table, type FoundKeys, type IsEnough, type RowPage, type TableParts } from './table.ts';
import type { WriterStart } from './recovery/writer-start.ts';

/** The keys that are looked up for removal at a time: as many as fit in a transaction. */
const MAX_REMOVED_AT_ONCE = 5_000;
const NO_ROWS = { absences: 0, 'absence-changes': 0 };

export interface WriterParts extends Omit<TableParts, 'hasChains'> {
  /** One transaction at a time for the whole tenant. */
  readonly commit: (transaction: Transaction) => Promise<Committed>;
  /** Only of `absence-versions`: what follows from its rows. */
  readonly chains?: ChainParts | undefined;
}

/**
 * The one place where a collection's rows become records: has the {@link Table} decide, and commits in order.
 *
 * Kafka first, then the index, both before anything else is decided on them (invariants 1 and 2). Several passes of
 * one collection may share it; everything runs one after another.
 */
export class CollectionWriter {
  readonly #parts: WriterParts;
  readonly #mutex = new Mutex();
  readonly #table: Table;
  /** Set by the first failure of log or index: what they hold is then uncertain, and nothing may be decided on it. */
  #failure: { readonly error: unknown } | null = null;
  readonly #offsetsAtStart: Offsets;
  #firstOffsets: Offsets | undefined;
  readonly #lastSequence: number;
  #progress: Progress | null = null;
  #derived: ReadonlyMap<ChainCollection, Progress | null> = new Map();
  #isFirstLoadOver = false;
  /** Whether `absence-state` holds the whole chain index. */
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

  /** Of the collections derived from this one; null where none was ever committed. */
  get derivedProgress(): readonly (Progress | null)[] {
    return [...this.#derived.values()];
  }

  /** Last offsets that were committed, in every topic that this writer writes to. */
  get offsets(): Offsets {
    return this.#allOffsets([this.#progress, ...this.#derived.values()]);
  }

  get firstOffsets(): Offsets | undefined {
    return this.#firstOffsets;
  }

  /** When everything that this writer publishes was last published whole, hub time, ms since the epoch; null: never. */
  get completeSinceMs(): number | null {
    const all = [this.#progress, ...this.#derived.values()].map((each) => each?.lastCompleteFull ?? null);
    return all.includes(null) ? null : (this.#progress?.lastCompleteFull?.startedAtMs ?? null);
  }

  /** Rows were published under another mapping, and may hold what is to be left out. */
  get isMappingNew(): boolean {
    const { reader } = this.#parts;
    return this.#progress !== null && (this.#progress.mapping ?? null) !== (reader.mapping ?? null);
  }

  get knownRows(): number {
    return this.#table.knownRows;
  }

  get knownRejects(): number {
    return this.#table.knownRejects;
  }

  /** Known rows that a sync can meet: those that {@link countWanted} has counted as unwanted are left out. */
  get wantedRows(): number {
    return this.#table.wantedRows;
  }

  /** Whether the configuration still wants a key. No sync meets any other, and that is no loss. */
  isWanted(key: string): boolean {
    return this.#table.isWanted(key);
  }

  /** The same as {@link wantedRows}; the first call reads the keys of the index. */
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

  /** To be taken when a page's request is sent; comes back with the page. */
  readonly readVersion = (): number => this.#table.readVersion;

  begin(sync: ActiveSync): void {
    this.#table.begin(sync);
  }

  end(sync: ActiveSync): void {
    this.#table.end(sync);
  }

  /** Decides a page's rows; changes wait in memory until {@link flush}. */
  accept(sync: ActiveSync, page: RowPage): Promise<PageTally> {
    return this.#run(() => this.#decide(sync, page, metIn(sync, page.readings)));
  }

  /** The same if the number of rows that are known among the page's passes a test; else null, and nothing is noted. */
  acceptIf(sync: ActiveSync, page: RowPage, isEnough: IsEnough): Promise<PageTally | null> {
    return this.#run(async () => {
      const { rows, known } = await this.#table.lookUpPage(page);
      if (!isEnough(page.readings.length, known)) return null;
      return this.#decide(sync, page, metIn(sync, page.readings), rows);
    });
  }

  /** Values that a sync met and put off until its end. */
  publish(sync: ActiveSync, readings: readonly KeyedRow[]): Promise<PageTally> {
    return this.#run(() => this.#decide(sync, { readings, readVersion: this.#table.readVersion }, new Set()));
  }

  /** Removals that a sync has settled on, but for keys met since (invariant 3). */
  async remove(sync: ActiveSync, area: Change['area'], keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_REMOVED_AT_ONCE) {
      const some = keys.slice(from, from + MAX_REMOVED_AT_ONCE);
      await this.#run(() => this.#table.remove(sync, area, some));
      if (this.isFull) await this.flush(sync);
    }
  }

  /** Which of these keys are rows of the collection. */
  known(keys: readonly string[]): Promise<readonly string[]> {
    return this.#run(() => this.#table.knownAmong(keys));
  }

  /** A few keys of rows that a test takes, as of the last commit; fewer where there are not so many. */
  someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    return this.#table.someKeys(count, test);
  }

  /** Which readings differ from what is known of their keys; those of unknown keys are left out. */
  differing(readings: readonly KeyedRow[]): Promise<KeyedRow[]> {
    return this.#run(() => this.#table.differing(readings));
  }

  /**
   * Whether a full sync has met every wanted row: it met as many as are known, and none that might not be among them.
   * False says nothing; {@link unseen} finds out by reading the whole index.
   */
  hasMetAll({ seen, seenRejects, stats }: ActiveSync): boolean {
    return seen?.size === this.wantedRows && seenRejects?.size === 0 && stats.rowsStale === 0;
  }

  /** Wanted keys of the index that a sync has not met, but for some. Nothing of the collection is written meanwhile. */
  unseen(area: Change['area'], sync: ActiveSync, except?: ReadonlySet<string>): Promise<FoundKeys> {
    const isMet = (key: string): boolean => except?.has(key) === true || hasMet(sync, area, key);
    return this.find(area, (key) => this.isWanted(key) && !isMet(key));
  }

  /** Keys of the index, as of the last commit, that a test takes. Nothing of the collection is written meanwhile. */
  find(area: Change['area'], test: (key: string) => boolean): Promise<FoundKeys> {
    return this.#run(() => this.#table.find(area, test));
  }

  /** Commits what waits. Without anything waiting only a sync's completion is worth a transaction. */
  flush(sync: ActiveSync, completion: SyncCompletion | 'incomplete' | null = null): Promise<void> {
    return this.#run(() => this.#flush(sync, completion));
  }

  async #flush(sync: ActiveSync, completion: SyncCompletion | 'incomplete' | null): Promise<void> {
    await this.#chains?.emitChanges(sync, syncEndOf(completion));
    if (!this.#table.staged.isEmpty || completion !== null) await this.#commit(sync, completion);
  }

  /** Reads the index while it is neither written nor made again: a part of it must not pass for all there is. */
  undisturbed<T>(read: () => Promise<T>): Promise<T> {
    return this.#run(read);
  }

  /**
   * Has the index made again while nothing of the collection is decided; what waits is committed before. `make` must
   * leave it equal to the log, and returns what writing begins from.
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

  /** Publishes the chain index to `absence-state`, unless that holds it already. To be called before the first sync. */
  importChangelog(): Promise<void> {
    return this.#run(() => this.#importChangelog());
  }

  async #importChangelog(): Promise<void> {
    const { chains } = this.#parts;
    if (chains === undefined || this.#isChangelogComplete) return;
    const sync = this.#syncOfItsOwn();
    let isEmpty = true;
    for await (const records of chains.importedRecords(() => this.#table.indexed)) {
      // Withdraws what `progress` says of a changelog that was lost, before records of another one have its offsets.
      if (isEmpty && this.#progress !== null) await this.#commit(sync, null);
      isEmpty = false;
      this.#table.staged.reissue(records);
      await this.#commit(sync, null);
    }
    // The next transaction says so; that of an empty index may be any later one.
    this.#isChangelogComplete = true;
    if (!isEmpty) await this.#commit(sync, null);
  }

  /**
   * Has rows decided that no scan meets, under a sync of its own, and commits what then waits. `republication`: rows to
   * republish even if unchanged.
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

  /** Stands for the sync of a transaction that no scan causes. */
  #syncOfItsOwn(republication?: Republication): ActiveSync {
    const stats = newSyncStats({
      passId: this.#parts.randomId(),
      mode: 'DELTA',
      startedAtMs: this.#progress?.startedAtMs ?? this.#parts.now(),
    });
    const { readVersion } = this.#table;
    return { stats, seen: null, seenByOthers: null, seenRejects: null, readVersion, republication };
  }

  /**
   * Publishes records that change nothing that the index knows, of topics that follow from this collection: while nothing
   * of it is decided, in one transaction, after what waits. `make` is given the `ce_id` of each. Returns how many, and
   * {@link offsets} right after them.
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

  /** The index was made from all rejects up to some point, its own and others'. */
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
      // A changelog that was not complete may have lost anything.
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
    // Only the record of a whole sync tells them.
    const rows =
      next.complete && next.mode === 'FULL'
        ? await chains.view.countRows(this.#table.staged.changes, this.#table.lookUpCommitted)
        : NO_ROWS;
    return derivedProgress({
      next,
      before: this.#derived,
      offsetsAtStart: this.#offsetsAtStart,
      tally: stats.chains,
      isFirstLoadOver: this.#isFirstLoadOver,
      rows,
    });
  }

  /** What telling of chains needs of this writer. */
  #unitOfWork(): UnitOfWork {
    return {
      pending: () => this.#table.staged,
      isFull: () => this.isFull,
      commit: (sync) => this.#commit(sync, null),
      lookUp: this.#table.lookUpCommitted,
      hashesOf: (ids) => this.#table.hashesOf(ids),
      // The walk may yet come to them, with newer content.
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
    metBefore: ReadonlySet<string>,
    rows?: ReadonlyMap<string, Buffer | null>,
  ): Promise<PageTally> {
    const keepsUnchanged = this.#chains?.republishes(sync) === true;
    return this.#table.decide(sync, page, { metBefore, rows, keepsUnchanged });
  }

  /** One after another; and none any more once log or index has failed. */
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
