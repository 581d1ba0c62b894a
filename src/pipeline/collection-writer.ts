import { decidePage, type Change, type KeyedRow, type PageTally } from '../core/page-decision.ts';
import type { ChainCollection } from '../model/collections.ts';
import { allOffsets, offsetsOf, type Offsets, type Progress } from '../model/progress.ts';
import type { Committed, OutgoingRecord, Transaction } from '../log/log.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import { hasMet, markSeen, metIn, reportNew, rowKeys, type ActiveSync } from './active-sync.ts';
import type { LookUp } from './chains/chain-lookup.ts';
import { AbsenceEmitter, type UnitOfWork, type ChainParts } from './chains/absence-emitter.ts';
import { Mutex } from './mutex.ts';
import { derivedProgress, endsFirstLoad, nextProgress } from './next-progress.ts';
import { syncEndOf, type SyncCompletion } from './sync-completion.ts';
import { addTally, countRejects, newSyncStats, type SyncStats } from './sync-stats.ts';
import { PendingTransaction, type RenderParts } from './pending-transaction.ts';
import { UnwantedRows } from './unwanted-rows.ts';
import type { WriterStart } from './writer-start.ts';

/** Enough to make a transaction's fixed cost small, little enough to hold in memory. */
const MAX_PENDING_RECORDS = 5_000;
const MAX_PENDING_BYTES = 4_000_000;
/** More keys than this are counted, not kept: a hub that shows one page of two million rows must not fill the memory. */
const MAX_UNSEEN_KEYS = 100_000;
/** Well below what the index takes in one step. */
const MAX_PENDING_CHANGES = 50_000;
const NO_ROWS = { absences: 0, 'absence-changes': 0 };
/** When the list of what was published lately is swept. */
const SWEEP_AT_KEYS = 20_000;

export interface WriterParts extends RenderParts {
  readonly index: CollectionIndex;
  /** One transaction at a time for the whole tenant. */
  readonly commit: (transaction: Transaction) => Promise<Committed>;
  /** Only of `absence-versions`: what follows from its rows. */
  readonly chains?: ChainParts | undefined;
  /** Whether the configuration still wants a key; left out where it wants every key. */
  readonly isWanted?: ((key: string) => boolean) | undefined;
}

export interface UnseenKeys {
  /** At most {@link MAX_UNSEEN_KEYS}. */
  readonly keys: readonly string[];
  readonly count: number;
}

/**
 * The one place where a collection's rows become records: looks rows up, decides, and commits in order.
 *
 * Kafka first, then the index, both before anything else is decided on them (invariants 1 and 2). Several passes of
 * one collection may share it; everything runs one after another.
 */
export class CollectionWriter {
  readonly #parts: WriterParts;
  readonly #mutex = new Mutex();
  readonly #syncs = new Set<ActiveSync>();
  readonly #publishedAt = new Map<string, number>();
  #readVersion = 0;
  /** Set by the first failure of log or index: what they hold is then uncertain, and nothing may be decided on it. */
  #failure: { readonly error: unknown } | null = null;
  readonly #offsetsAtStart: Offsets;
  #firstOffsets: Offsets | undefined;
  readonly #lastSequence: number;
  #progress: Progress | null;
  #derived: ReadonlyMap<ChainCollection, Progress | null>;
  #isFirstLoadOver: boolean;
  #indexed: string;
  #known: Record<Change['area'], number>;
  readonly #unwanted: UnwantedRows;
  #pending: PendingTransaction;
  readonly #chains: AbsenceEmitter | null;

  constructor(parts: WriterParts, start: WriterStart) {
    this.#parts = parts;
    this.#progress = start.progress;
    this.#derived = start.derived ?? new Map();
    this.#isFirstLoadOver = start.isFirstLoadOver ?? false;
    this.#offsetsAtStart = start.offsets;
    this.#firstOffsets = start.firstOffsets;
    this.#lastSequence = start.lastSequence ?? 0;
    this.#indexed = start.indexed;
    this.#unwanted = new UnwantedRows(parts.isWanted);
    this.#pending = this.#newPending();
    this.#chains = parts.chains === undefined ? null : new AbsenceEmitter(parts.chains, this.#unitOfWork());
    this.#known = { rows: start.knownRows, rejects: start.knownRejects };
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
    return this.#known.rows;
  }

  get knownRejects(): number {
    return this.#known.rejects;
  }

  /** Known rows that a pass can meet: those that {@link countWanted} has counted as unwanted are left out. */
  get wantedRows(): number {
    return this.#known.rows - this.#unwanted.known;
  }

  /** Whether the configuration still wants a key. No pass meets any other, and that is no loss. */
  isWanted(key: string): boolean {
    return this.#unwanted.isWanted(key);
  }

  /** The same as {@link wantedRows}; the first call reads the keys of the index. */
  async countWanted(): Promise<number> {
    if (this.#parts.isWanted !== undefined) await this.#run(() => this.#unwanted.countIn(this.#parts.index));
    return this.wantedRows;
  }

  get hasPending(): boolean {
    return !this.#pending.isEmpty;
  }

  get isFull(): boolean {
    const { size, bytes, changes } = this.#pending;
    return size >= MAX_PENDING_RECORDS || bytes >= MAX_PENDING_BYTES || changes.length >= MAX_PENDING_CHANGES;
  }

  /** To be taken when a page's request is sent; comes back with the page. */
  readonly readVersion = (): number => this.#readVersion;

  begin(sync: ActiveSync): void {
    this.#syncs.add(sync);
  }

  end(sync: ActiveSync): void {
    this.#syncs.delete(sync);
    if (this.#syncs.size === 0) this.#publishedAt.clear();
  }

  /** Decides a page's rows; changes wait in memory until {@link flush}. */
  accept(sync: ActiveSync, page: { readings: readonly KeyedRow[]; readVersion: number }): Promise<PageTally> {
    return this.#run(() => this.#decide(sync, page, metIn(sync, page.readings)));
  }

  /** The same, unless no row of the page is known: then null, and nothing is noted. */
  acceptUnlessAllNew(
    sync: ActiveSync,
    page: { readings: readonly KeyedRow[]; readVersion: number },
  ): Promise<PageTally | null> {
    return this.#run(async () => {
      const keys = rowKeys(page.readings);
      const rows = await this.#lookUp('rows', keys);
      const isKnown = keys.some((key) => this.#knownHash('rows', key, rows) !== null);
      const isAllNew = page.readings.length > 0 && !isKnown && !(await this.#knowsReject(page.readings));
      return isAllNew ? null : this.#decide(sync, page, metIn(sync, page.readings), rows);
    });
  }

  async #knowsReject(readings: readonly KeyedRow[]): Promise<boolean> {
    const keys = readings.flatMap(({ decoded: reading, rejectKey }) =>
      reading.kind === 'reject' ? [rejectKey] : [],
    );
    const rejects = await this.#lookUp('rejects', keys);
    return keys.some((key) => this.#knownHash('rejects', key, rejects) !== null);
  }

  /** Values that a pass met and put off until its end. */
  publish(sync: ActiveSync, readings: readonly KeyedRow[]): Promise<PageTally> {
    return this.#run(() => this.#decide(sync, { readings, readVersion: this.#readVersion }, new Set()));
  }

  /** Removals that a pass has settled on, but for keys met since (invariant 3). */
  async remove(sync: ActiveSync, area: Change['area'], keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_PENDING_RECORDS) {
      await this.#removeSome(sync, area, keys.slice(from, from + MAX_PENDING_RECORDS));
      if (this.isFull) await this.flush(sync);
    }
  }

  #removeSome(sync: ActiveSync, area: Change['area'], keys: readonly string[]): Promise<void> {
    return this.#run(async () => {
      const hashes = await this.#lookUp(area, keys);
      for (const key of keys) {
        if (hasMet(sync, area, key) || this.#knownHash(area, key, hashes) === null) continue;
        this.#note({ area, key, kind: 'deleted' });
        if (area === 'rows') sync.stats.rowsRemoved += 1;
      }
    });
  }

  /** Which of these keys are rows of the collection. */
  known(keys: readonly string[]): Promise<readonly string[]> {
    return this.#run(async () => {
      const known = await this.#lookUp('rows', keys);
      return keys.filter((key) => this.#knownHash('rows', key, known) !== null);
    });
  }

  /** A few keys of rows that a test takes, as of the last commit; fewer where there are not so many. */
  async someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    for await (const batch of this.#parts.index.keys('rows')) {
      const fit = batch.filter(test);
      // From all over the batch: neighbours may share a fate.
      const step = Math.max(1, Math.floor(fit.length / count));
      if (fit.length > 0) return fit.filter((_, position) => position % step === 0).slice(0, count);
    }
    return [];
  }

  /** Which readings differ from what is known of their keys; those of unknown keys are left out. */
  differing(readings: readonly KeyedRow[]): Promise<KeyedRow[]> {
    return this.#run(async () => {
      const known = await this.#lookUp('rows', rowKeys(readings));
      return readings.filter(({ key, decoded: reading }) => {
        const before = key === null ? null : this.#knownHash('rows', key, known);
        return before !== null && !before.equals(reading.hash);
      });
    });
  }

  /**
   * Whether a full pass has met every wanted row: it met as many as are known, and none that might not be among them.
   * False says nothing; {@link unseen} finds out by reading the whole index.
   */
  hasMetAll({ seen, seenRejects, stats }: ActiveSync): boolean {
    return seen?.size === this.wantedRows && seenRejects?.size === 0 && stats.rowsStale === 0;
  }

  /** Wanted keys of the index that a pass has not met, but for some. Nothing of the collection is written meanwhile. */
  unseen(area: Change['area'], sync: ActiveSync, except?: ReadonlySet<string>): Promise<UnseenKeys> {
    const isLeft = (key: string): boolean => this.isWanted(key) && except?.has(key) !== true;
    return this.find(area, (key) => isLeft(key) && !hasMet(sync, area, key));
  }

  /** Keys of the index, as of the last commit, that a test takes. Nothing of the collection is written meanwhile. */
  find(area: Change['area'], test: (key: string) => boolean): Promise<UnseenKeys> {
    return this.#run(async () => {
      const found = new Set<string>();
      let beyond = 0;
      for await (const batch of this.#parts.index.keys(area)) {
        for (const key of batch) {
          if (!test(key)) continue;
          if (found.size < MAX_UNSEEN_KEYS) found.add(key);
          else if (!found.has(key)) beyond += 1;
        }
      }
      return { keys: [...found], count: found.size + beyond };
    });
  }

  /** Commits what waits. Without anything waiting only a pass's completion is worth a transaction. */
  flush(sync: ActiveSync, completion: SyncCompletion | 'incomplete' | null = null): Promise<void> {
    return this.#run(async () => {
      await this.#chains?.emitChanges(sync, syncEndOf(completion));
      if (this.#pending.isEmpty && completion === null) return;
      await this.#commit(sync, completion);
    });
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
      const stats = newSyncStats({
        passId: this.#parts.randomId(),
        mode: 'DELTA',
        startedAtMs: this.#progress?.startedAtMs ?? this.#parts.now(),
      });
      const sync: ActiveSync = {
        stats,
        seen: null,
        seenByOthers: null,
        seenRejects: null,
        readVersion: this.#readVersion,
      };
      if (!this.#pending.isEmpty) {
        await this.#chains?.emitChanges(sync, null);
        await this.#commit(sync, null);
      }
      const start = await make(this.#isFirstLoadOver);
      this.#progress = start.progress;
      this.#derived = start.derived ?? this.#derived;
      this.#isFirstLoadOver = start.isFirstLoadOver ?? this.#isFirstLoadOver;
      this.#indexed = start.indexed;
      this.#firstOffsets = start.firstOffsets;
      this.#known = { rows: start.knownRows, rejects: start.knownRejects };
      this.#unwanted.forget();
    });
  }

  /**
   * Publishes records that change nothing that the index knows, of topics that follow from this collection: while nothing
   * of it is decided, in one transaction, after what waits. `make` is given the `ce_id` of each. Returns how many, and
   * {@link offsets} right after them.
   */
  reissue(
    sync: ActiveSync,
    make: (idOf: (index: number) => string) => Promise<readonly OutgoingRecord[]>,
  ): Promise<{ count: number; offsets: Offsets }> {
    return this.#run(async () => {
      await this.#chains?.emitChanges(sync, null);
      if (!this.#pending.isEmpty) await this.#commit(sync, null);
      const { transactionId } = this.#pending;
      const records = await make((index) => `${transactionId}-${index}`);
      this.#pending.reissue(records);
      if (records.length > 0) await this.#commit(sync, null);
      return { count: records.length, offsets: this.offsets };
    });
  }

  /** The index was made from all rejects up to some point, its own and others'. */
  #allOffsets(progress: readonly (Progress | null)[]): Offsets {
    return allOffsets([{ offsets: offsetsOf(this.#offsetsAtStart, 'rejects') }, ...progress]);
  }

  #newPending(): PendingTransaction {
    return new PendingTransaction({ ...this.#parts, hasChains: this.#parts.chains !== undefined });
  }

  async #commit(sync: ActiveSync, completion: SyncCompletion | 'incomplete' | null): Promise<void> {
    const { records, changes, transactionId, outcomes } = this.#pending;
    const next = nextProgress({
      collection: this.#parts.collection,
      before: this.#progress,
      offsetsAtStart: this.#offsetsAtStart,
      lastSequence: this.#lastSequence,
      transactionId,
      mapping: this.#parts.reader.mapping ?? null,
      stats: sync.stats,
      completion,
    });
    const { progress, derived, committedAtMs } = await this.#parts.commit({
      records,
      progress: next,
      derived: await this.#nextDerived(next, sync.stats),
    });
    await this.#parts.index.apply(
      this.#indexed,
      {
        sequence: progress.sequence,
        transactionId: progress.transactionId,
        committedAtMs,
        offsets: this.#allOffsets([progress, ...derived]),
        firstOffsets: this.#firstOffsets,
        mapping: this.#parts.reader.mapping ?? null,
      },
      changes,
    );
    this.#indexed = progress.transactionId;
    this.#progress = progress;
    this.#derived = new Map(derived.map((each) => [each.collection as ChainCollection, each]));
    this.#isFirstLoadOver ||= endsFirstLoad(derived);
    this.#pending = this.#newPending();
    for (const outcome of outcomes) this.#parts.chains?.onCommitted(outcome);
  }

  async #nextDerived(next: Progress, stats: SyncStats): Promise<readonly Progress[]> {
    const { chains } = this.#parts;
    if (chains === undefined) return [];
    // Only the record of a whole pass tells them.
    const isComplete = next.complete && next.mode === 'FULL';
    const rows = isComplete ? await chains.view.countRows(this.#pending.changes, this.#lookUpNow) : NO_ROWS;
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
      pending: () => this.#pending,
      isFull: () => this.isFull,
      commit: (sync) => this.#commit(sync, null),
      lookUp: this.#lookUpNow,
      hashesOf: async (ids) => {
        const known = await this.#lookUp('rows', ids);
        return new Map(ids.map((id) => [id, this.#knownHash('rows', id, known)]));
      },
      // The walk may yet come to them, with newer content.
      decide: (sync, page) => this.#decide(sync, { ...page, isAskedFor: true }, new Set()),
      readVersion: this.readVersion,
      sequence: () => (this.#progress?.sequence ?? this.#lastSequence) + 1,
      progress: () => this.#progress,
      isFirstLoadOver: () => this.#isFirstLoadOver,
      isMappingNew: () => this.isMappingNew,
      isFullSyncRunning: () => [...this.#syncs].some(({ seen }) => seen !== null),
    };
  }

  readonly #lookUpNow: LookUp = (area, keys) => this.#parts.index.lookup(area, keys, this.#indexed);

  async #decide(
    sync: ActiveSync,
    page: { readings: readonly KeyedRow[]; readVersion: number; isAskedFor?: boolean },
    metBefore: ReadonlySet<string>,
    known?: ReadonlyMap<string, Buffer | null>,
  ): Promise<PageTally> {
    const rows = known ?? (await this.#lookUp('rows', rowKeys(page.readings)));
    const rejectsMatter =
      this.#known.rejects > 0 || page.readings.some(({ decoded: reading }) => reading.kind === 'reject');
    const rejects = rejectsMatter
      ? await this.#lookUp(
          'rejects',
          page.readings.map(({ rejectKey }) => rejectKey),
        )
      : null;
    markSeen(this.#syncs, page.isAskedFor === true ? null : sync, page.readings);
    // A row that stands twice in a page is not older than itself.
    const before = this.#readVersion;
    const isStaleFor = (publishedAt: number): boolean =>
      publishedAt > page.readVersion && publishedAt <= before;
    const tally = decidePage(page.readings, {
      row: (key) => this.#knownHash('rows', key, rows),
      reject: (key) => (rejects === null ? null : this.#knownHash('rejects', key, rejects)),
      stale: (key) => isStaleFor(this.#publishedAt.get(key) ?? -1),
      republication: (key) => sync.republication?.rows?.(key) === true,
      metBefore: (key) => metBefore.has(key),
      note: (change) => this.#note(change, page.isAskedFor === true ? null : sync),
    });
    if (this.#chains?.republishes(sync) === true) {
      for (const { key, decoded: reading } of page.readings) {
        const isAsKnown =
          reading.kind === 'row' && key !== null && this.#knownHash('rows', key, rows)?.equals(reading.hash);
        if (isAsKnown === true) this.#pending.noteMet(reading);
      }
    }
    sync.readVersion = Math.max(sync.readVersion, page.readVersion);
    const isNew = ({ key }: KeyedRow): boolean => key === null || !metBefore.has(key);
    countRejects(sync.stats, metBefore.size === 0 ? page.readings : page.readings.filter(isNew));
    // Rows that were asked for one by one are none of the walk's.
    addTally(sync.stats, page.isAskedFor === true ? { ...tally, seen: 0, unchanged: 0 } : tally);
    this.#sweepPublished();
    return tally;
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

  #note(change: Change, sync: ActiveSync | null = null): void {
    if (sync !== null) reportNew(sync, change);
    this.#pending.note(change);
    if (change.kind === 'created') this.#known[change.area] += 1;
    if (change.kind === 'deleted') this.#known[change.area] -= 1;
    if (change.kind === 'deleted' && change.area === 'rows') this.#unwanted.noteRemoved(change.key);
    this.#readVersion += 1;
    this.#publishedAt.set(change.key, this.#readVersion);
  }

  async #lookUp(area: Change['area'], keys: readonly string[]): Promise<ReadonlyMap<string, Buffer | null>> {
    if (keys.length === 0 || this.#known[area] === 0) return new Map();
    const hashes = await this.#parts.index.lookup(area, keys, this.#indexed);
    return new Map(keys.map((key, position) => [key, hashes[position] ?? null]));
  }

  #knownHash(area: Change['area'], key: string, indexed: ReadonlyMap<string, Buffer | null>): Buffer | null {
    const pending = this.#pending.hashOf(area, key);
    return pending === undefined ? (indexed.get(key) ?? null) : pending;
  }

  #sweepPublished(): void {
    if (this.#publishedAt.size < SWEEP_AT_KEYS) return;
    const oldest = Math.min(...[...this.#syncs].map(({ readVersion }) => readVersion));
    for (const [key, readVersion] of this.#publishedAt)
      if (readVersion <= oldest) this.#publishedAt.delete(key);
  }
}
