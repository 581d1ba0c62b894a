import { decidePage, type Change, type KeyedReading, type PageTally } from '../core/page-decision.ts';
import type { AbsenceVersionValue } from '../core/chains/chain-row.ts';
import type { ChainCollection } from '../model/collections.ts';
import { allOffsets, type LastCompleteFull, type Offsets, type Progress } from '../model/progress.ts';
import type { Committed, Transaction } from '../publisher/log.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import { hasMet, markSeen, metIn, type ActivePass } from './active-pass.ts';
import type { ChainBook } from './chains/chain-book.ts';
import type { LookUp } from './chains/chain-lookup.ts';
import type { ChainOutcome, ChainTask, FetchedVersions } from './chains/chain-task.ts';
import { Mutex } from './mutex.ts';
import { derivedProgress, nextProgress } from './next-progress.ts';
import type { PassStats } from './pass-stats.ts';
import { PendingTransaction, type RenderParts } from './pending-transaction.ts';

/** Enough to make a transaction's fixed cost small, little enough to hold in memory. */
const MAX_PENDING_RECORDS = 5_000;
const MAX_PENDING_BYTES = 4_000_000;
/** More keys than this are counted, not kept: a hub that shows one page of two million rows must not fill the memory. */
const MAX_UNSEEN_KEYS = 100_000;
/** Versions that a chain refers to and that the page did not bring: more of them wait for the pass's end. */
const ASK_AT_ONCE_AT_MOST = 50;
const ASK_AT_END_AT_MOST = 1_000;
const NO_ROWS = { absences: 0, 'absence-changes': 0 };
/** When the list of what was published lately is swept. */
const SWEEP_AT_KEYS = 20_000;

export interface WriterParts extends RenderParts {
  readonly index: CollectionIndex;
  /** One transaction at a time for the whole tenant. */
  readonly commit: (transaction: Transaction) => Promise<Committed>;
  /** Only of `absence-versions`: what follows from its rows. */
  readonly chains?: ChainParts | undefined;
}

export interface ChainParts {
  readonly book: ChainBook;
  /** Asks the hub for single rows; null when it cannot be had at present. */
  readonly fetch: (
    ids: readonly string[],
    stamp: () => number,
  ) => Promise<{
    pages: readonly { readonly readings: readonly KeyedReading[]; readonly stamp: number }[];
    gone: readonly string[];
  } | null>;
  /** Called after the commit. */
  readonly told: (outcome: ChainOutcome) => void;
}

/** Where the log and the index stand when the writer begins. */
export interface WriterStart {
  readonly progress: Progress | null;
  /** Of the collections derived from this one: null where none was ever committed. */
  readonly derived?: ReadonlyMap<ChainCollection, Progress | null> | undefined;
  /** The transaction that the index reflects. */
  readonly indexed: string;
  /** Last data offsets so far; the progress has them too, unless it was lost. */
  readonly offsets: Offsets;
  readonly knownRows: number;
  readonly knownRejects: number;
}

export interface UnseenKeys {
  /** At most {@link MAX_UNSEEN_KEYS}. */
  readonly keys: readonly string[];
  readonly count: number;
}

export interface PassCompletion {
  readonly watermarkMs: number;
  /** The pass has proven that it met every row: what it did not meet is gone. */
  readonly isProven?: boolean | undefined;
  readonly lastCompleteFull: Omit<LastCompleteFull, 'offsets'> | null;
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
  readonly #passes = new Set<ActivePass>();
  readonly #publishedAt = new Map<string, number>();
  #stamp = 0;
  /** Set by the first failure of log or index: what they hold is then uncertain, and nothing may be decided on it. */
  #failure: { readonly error: unknown } | null = null;
  readonly #offsetsAtStart: Offsets;
  #progress: Progress | null;
  #derived: ReadonlyMap<ChainCollection, Progress | null>;
  #indexed: string;
  #known: Record<Change['area'], number>;
  #pending: PendingTransaction;

  constructor(parts: WriterParts, start: WriterStart) {
    this.#parts = parts;
    this.#progress = start.progress;
    this.#derived = start.derived ?? new Map();
    this.#offsetsAtStart = start.offsets;
    this.#indexed = start.indexed;
    this.#pending = this.#newPending();
    this.#known = { rows: start.knownRows, rejects: start.knownRejects };
  }

  get progress(): Progress | null {
    return this.#progress;
  }

  /** When everything that this writer publishes was last published whole, hub time, ms since the epoch; null: never. */
  get wholeSinceMs(): number | null {
    const all = [this.#progress, ...this.#derived.values()].map((each) => each?.lastCompleteFull ?? null);
    return all.includes(null) ? null : (this.#progress?.lastCompleteFull?.startedAtMs ?? null);
  }

  get knownRows(): number {
    return this.#known.rows;
  }

  get knownRejects(): number {
    return this.#known.rejects;
  }

  get hasPending(): boolean {
    return !this.#pending.isEmpty;
  }

  get isFull(): boolean {
    return this.#pending.size >= MAX_PENDING_RECORDS || this.#pending.bytes >= MAX_PENDING_BYTES;
  }

  /** To be taken when a page's request is sent; comes back with the page. */
  readonly stamp = (): number => this.#stamp;

  begin(pass: ActivePass): void {
    this.#passes.add(pass);
  }

  end(pass: ActivePass): void {
    this.#passes.delete(pass);
    if (this.#passes.size === 0) this.#publishedAt.clear();
  }

  /** Decides a page's rows; changes wait in memory until {@link flush}. */
  accept(pass: ActivePass, page: { readings: readonly KeyedReading[]; stamp: number }): Promise<PageTally> {
    return this.#run(() => this.#decide(pass, page, metIn(pass.seen, page.readings)));
  }

  /** Values that a pass met and put off until its end. */
  publish(pass: ActivePass, readings: readonly KeyedReading[]): Promise<PageTally> {
    return this.#run(() => this.#decide(pass, { readings, stamp: this.#stamp }, new Set()));
  }

  /** Removals that a pass has settled on, but for keys met since (invariant 3). */
  async remove(pass: ActivePass, area: Change['area'], keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_PENDING_RECORDS) {
      await this.#removeSome(pass, area, keys.slice(from, from + MAX_PENDING_RECORDS));
      if (this.isFull) await this.flush(pass);
    }
  }

  #removeSome(pass: ActivePass, area: Change['area'], keys: readonly string[]): Promise<void> {
    return this.#run(async () => {
      const hashes = await this.#lookUp(area, keys);
      for (const key of keys) {
        if (hasMet(pass, area, key) || this.#knownHash(area, key, hashes) === null) continue;
        this.#note({ area, key, kind: 'deleted' });
        if (area === 'rows') pass.stats.rowsRemoved += 1;
      }
    });
  }

  /** How many of these keys are rows of the collection. */
  countKnown(keys: readonly string[]): Promise<number> {
    return this.#run(async () => {
      const known = await this.#lookUp('rows', keys);
      return keys.filter((key) => this.#knownHash('rows', key, known) !== null).length;
    });
  }

  /** Which readings differ from what is known of their keys; those of unknown keys are left out. */
  differing(readings: readonly KeyedReading[]): Promise<KeyedReading[]> {
    return this.#run(async () => {
      const known = await this.#lookUp('rows', rowKeys(readings));
      return readings.filter(({ key, reading }) => {
        const before = key === null ? null : this.#knownHash('rows', key, known);
        return before !== null && !before.equals(reading.hash);
      });
    });
  }

  /**
   * Whether a full pass has met every known row: it met as many as are known, and none that might not be among them.
   * False says nothing; {@link unseen} finds out by reading the whole index.
   */
  hasMetAll({ seen, seenRejects, stats }: ActivePass): boolean {
    return seen?.size === this.#known.rows && seenRejects?.size === 0 && stats.rowsOvertaken === 0;
  }

  /** Keys of the index that a pass has not met. Nothing of the collection is written meanwhile. */
  unseen(area: Change['area'], pass: ActivePass): Promise<UnseenKeys> {
    return this.#run(async () => {
      const found = new Set<string>();
      let beyond = 0;
      for await (const batch of this.#parts.index.keys(area)) {
        for (const key of batch) {
          if (hasMet(pass, area, key)) continue;
          if (found.size < MAX_UNSEEN_KEYS) found.add(key);
          else if (!found.has(key)) beyond += 1;
        }
      }
      return { keys: [...found], count: found.size + beyond };
    });
  }

  /** Commits what waits. Without anything waiting only a pass's completion is worth a transaction. */
  flush(pass: ActivePass, completion: PassCompletion | 'incomplete' | null = null): Promise<void> {
    return this.#run(async () => {
      const { chains } = this.#parts;
      if (chains !== undefined) await this.#tellChains(chains, pass, completion);
      if (this.#pending.isEmpty && completion === null) return;
      await this.#commit(pass, completion);
    });
  }

  #newPending(): PendingTransaction {
    return new PendingTransaction({ ...this.#parts, hasChains: this.#parts.chains !== undefined });
  }

  async #commit(pass: ActivePass, completion: PassCompletion | 'incomplete' | null): Promise<void> {
    const { records, changes, transactionId, outcomes } = this.#pending;
    const next = nextProgress({
      collection: this.#parts.collection,
      before: this.#progress,
      offsetsAtStart: this.#offsetsAtStart,
      transactionId,
      stats: pass.stats,
      completion,
    });
    const { progress, derived, committedAtMs } = await this.#parts.commit({
      records,
      progress: next,
      derived: await this.#nextDerived(next, pass.stats),
    });
    await this.#parts.index.apply(
      this.#indexed,
      {
        sequence: progress.sequence,
        transactionId: progress.transactionId,
        committedAtMs,
        offsets: allOffsets([progress, ...derived]),
      },
      changes,
    );
    this.#indexed = progress.transactionId;
    this.#progress = progress;
    this.#derived = new Map(derived.map((each) => [each.collection as ChainCollection, each]));
    this.#pending = this.#newPending();
    for (const outcome of outcomes) this.#parts.chains?.told(outcome);
  }

  async #nextDerived(next: Progress, stats: PassStats): Promise<readonly Progress[]> {
    const { chains } = this.#parts;
    if (chains === undefined) return [];
    // Only the record of a whole pass tells them.
    const isWhole = next.complete && next.mode === 'FULL';
    const rows = isWhole ? await chains.book.countRows(this.#pending.changes, this.#lookUpNow) : NO_ROWS;
    return derivedProgress({
      next,
      before: this.#derived,
      offsetsAtStart: this.#offsetsAtStart,
      tally: stats.chains,
      rows,
    });
  }

  /**
   * Adds to what waits all that follows from the changed versions in it; at a pass's end also what was left open, which
   * may take transactions of its own.
   */
  async #tellChains(
    chains: ChainParts,
    pass: ActivePass,
    completion: PassCompletion | 'incomplete' | null,
  ): Promise<void> {
    if (completion === null) {
      if (!this.#pending.isEmpty) await this.#settle(chains, pass, { mode: 'page', revisit: [] });
      return;
    }
    const isProven = completion !== 'incomplete' && completion.isProven === true;
    let isSettled = false;
    for await (const revisit of chains.book.toRevisit()) {
      if (isSettled) await this.#commit(pass, null);
      await this.#settle(chains, pass, { mode: 'final', revisit, isProven });
      isSettled = true;
    }
    if (!isSettled && !this.#pending.isEmpty) {
      await this.#settle(chains, pass, { mode: 'final', revisit: [], isProven });
    }
    // An index that was lost meanwhile had nothing open, either.
    await this.#lookUpNow('open', []);
    if (completion === 'incomplete' || completion.lastCompleteFull === null) return;
    const isSnapshot = this.#derived.get('absence-changes')?.lastCompleteFull == null;
    if (isSnapshot) {
      const told = this.#pending.keysOf('absences');
      for await (const outcome of chains.book.hideOrphans(() => this.#pending.next, told)) {
        this.#addOutcome(pass, outcome);
        if (this.isFull) await this.#commit(pass, null);
      }
    }
    await this.#forget(chains, pass);
  }

  /** What is too old; but nothing that is about to be committed anyway. */
  async #forget(chains: ChainParts, pass: ActivePass): Promise<void> {
    const ended = this.#pending.keysOf('ended');
    for await (const outcome of chains.book.forgetEnded(() => this.#pending.next, ended)) {
      this.#addOutcome(pass, outcome);
      if (this.isFull) await this.#commit(pass, null);
    }
    const absent = this.#pending.keysOf('absent');
    for await (const changes of chains.book.outlivedAbsents(absent)) this.#pending.changes.push(...changes);
  }

  async #settle(
    chains: ChainParts,
    pass: ActivePass,
    how: Pick<ChainTask, 'mode' | 'revisit'> & { isProven?: boolean },
  ): Promise<void> {
    const { lastCompleteFull } = this.#derived.get('absence-changes') ?? { lastCompleteFull: null };
    const isFirstLoad = lastCompleteFull === null && pass.seen !== null;
    const outcome = await chains.book.settle({
      ...how,
      ...this.#pending.takeVersions(),
      ...this.#pending.next,
      sequence: (this.#progress?.sequence ?? 0) + 1,
      snapshot: lastCompleteFull === null,
      // A topic of versions that was lost is filled again; what was told of them was not.
      forgottenBeforeMs:
        lastCompleteFull !== null && this.#progress?.lastCompleteFull == null
          ? chains.book.forgottenBeforeMs
          : null,
      askAtMost: how.mode === 'final' ? ASK_AT_END_AT_MOST : isFirstLoad ? 0 : ASK_AT_ONCE_AT_MOST,
      isGone: how.isProven === true ? (id) => !hasMet(pass, 'rows', id) : null,
      lookUp: this.#lookUpNow,
      hashesOf: async (ids) => {
        const known = await this.#lookUp('rows', ids);
        return new Map(ids.map((id) => [id, this.#knownHash('rows', id, known)]));
      },
      fetch: (ids) => this.#fetch(chains, pass, ids),
    });
    this.#addOutcome(pass, outcome);
  }

  readonly #lookUpNow: LookUp = (area, keys) => this.#parts.index.lookup(area, keys, this.#indexed);

  #addOutcome({ stats }: ActivePass, outcome: ChainOutcome): void {
    this.#pending.add(outcome);
    for (const [kind, count] of Object.entries(outcome.tally)) {
      stats.chains[kind as keyof ChainOutcome['tally']] += count;
    }
  }

  /** Rows asked for one by one are decided like those of a page. */
  async #fetch(chains: ChainParts, pass: ActivePass, ids: readonly string[]): Promise<FetchedVersions> {
    const found = await chains.fetch(ids, this.stamp);
    if (found === null) return { versions: [], gone: [], isFailed: true };
    for (const page of found.pages) await this.#decide(pass, page, new Set());
    const readings = found.pages.flatMap((page) => page.readings.map(({ reading }) => reading));
    this.#pending.takeVersions();
    return {
      versions: readings.flatMap((reading) =>
        reading.kind === 'row' ? [reading.value as AbsenceVersionValue] : [],
      ),
      gone: found.gone,
      isFailed: false,
    };
  }

  async #decide(
    pass: ActivePass,
    page: { readings: readonly KeyedReading[]; stamp: number },
    metBefore: ReadonlySet<string>,
  ): Promise<PageTally> {
    const rows = await this.#lookUp('rows', rowKeys(page.readings));
    const rejectsMatter =
      this.#known.rejects > 0 || page.readings.some(({ reading }) => reading.kind === 'reject');
    const rejects = rejectsMatter
      ? await this.#lookUp(
          'rejects',
          page.readings.map(({ rejectKey }) => rejectKey),
        )
      : null;
    markSeen(this.#passes, pass, page.readings);
    // A row that stands twice in a page is not older than itself.
    const before = this.#stamp;
    const isOvertakenBy = (publishedAt: number): boolean => publishedAt > page.stamp && publishedAt <= before;
    const tally = decidePage(page.readings, {
      row: (key) => this.#knownHash('rows', key, rows),
      reject: (key) => (rejects === null ? null : this.#knownHash('rejects', key, rejects)),
      overtaken: (key) => isOvertakenBy(this.#publishedAt.get(key) ?? -1),
      metBefore: (key) => metBefore.has(key),
      note: (change) => this.#note(change),
    });
    if (this.#tellsAgain(pass)) {
      for (const { key, reading } of page.readings) {
        const isAsKnown =
          reading.kind === 'row' && key !== null && this.#knownHash('rows', key, rows)?.equals(reading.hash);
        if (isAsKnown === true) this.#pending.noteMet(reading);
      }
    }
    pass.stamp = Math.max(pass.stamp, page.stamp);
    addTally(pass.stats, tally);
    this.#sweepPublished();
    return tally;
  }

  /**
   * Versions that are there while what follows from them was lost, or never told: a full pass brings their records,
   * which else would have to be read back out of the log.
   */
  #tellsAgain(pass: ActivePass): boolean {
    if (this.#parts.chains === undefined || pass.seen === null) return false;
    return this.#derived.get('absence-changes')?.lastCompleteFull == null;
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

  #note(change: Change): void {
    this.#pending.note(change);
    if (change.kind === 'created') this.#known[change.area] += 1;
    if (change.kind === 'deleted') this.#known[change.area] -= 1;
    this.#stamp += 1;
    this.#publishedAt.set(change.key, this.#stamp);
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
    const oldest = Math.min(...[...this.#passes].map(({ stamp }) => stamp));
    for (const [key, stamp] of this.#publishedAt) if (stamp <= oldest) this.#publishedAt.delete(key);
  }
}

function rowKeys(readings: readonly KeyedReading[]): string[] {
  return readings.flatMap(({ key, reading }) => (key !== null && reading.kind === 'row' ? [key] : []));
}

function addTally(stats: PassStats, tally: PageTally): void {
  stats.rowsSeen += tally.seen;
  stats.rowsUnchanged += tally.unchanged;
  stats.rowsOvertaken += tally.overtaken;
  stats.rowsRepeated += tally.repeated;
  stats.rowsCreated += tally.created;
  stats.rowsUpdated += tally.updated;
  stats.rowsRejected += tally.rejected;
  stats.rowsWithoutId += tally.withoutId;
}
