import { decidePage, type Change, type KeyedReading, type PageTally } from '../core/page-decision.ts';
import type { LastCompleteFull, Offsets, Progress } from '../model/progress.ts';
import type { Committed, Transaction } from '../publisher/log.ts';
import type { CollectionIndex, IndexArea } from '../state/index-store.ts';
import { hasMet, markSeen, metIn, type ActivePass } from './active-pass.ts';
import { Mutex } from './mutex.ts';
import type { PassStats } from './pass-stats.ts';
import { PendingTransaction, type RenderParts } from './pending-transaction.ts';

/** Enough to make a transaction's fixed cost small, little enough to hold in memory. */
const MAX_PENDING_RECORDS = 5_000;
const MAX_PENDING_BYTES = 4_000_000;
/** More keys than this are counted, not kept: a hub that shows one page of two million rows must not fill the memory. */
const MAX_UNSEEN_KEYS = 100_000;
/** When the list of what was published lately is swept. */
const SWEEP_AT_KEYS = 20_000;

export interface WriterParts extends RenderParts {
  readonly index: CollectionIndex;
  /** One transaction at a time for the whole tenant. */
  readonly commit: (transaction: Transaction) => Promise<Committed>;
}

/** Where the log and the index stand when the writer begins. */
export interface WriterStart {
  readonly progress: Progress | null;
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
  #indexed: string;
  #known: Record<IndexArea, number>;
  #pending: PendingTransaction;

  constructor(parts: WriterParts, start: WriterStart) {
    this.#parts = parts;
    this.#progress = start.progress;
    this.#offsetsAtStart = start.offsets;
    this.#indexed = start.indexed;
    this.#pending = new PendingTransaction(parts);
    this.#known = { rows: start.knownRows, rejects: start.knownRejects };
  }

  get progress(): Progress | null {
    return this.#progress;
  }

  get knownRows(): number {
    return this.#known.rows;
  }

  get knownRejects(): number {
    return this.#known.rejects;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
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
  async remove(pass: ActivePass, area: IndexArea, keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_PENDING_RECORDS) {
      await this.#removeSome(pass, area, keys.slice(from, from + MAX_PENDING_RECORDS));
      if (this.isFull) await this.flush(pass);
    }
  }

  #removeSome(pass: ActivePass, area: IndexArea, keys: readonly string[]): Promise<void> {
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
  unseen(area: IndexArea, pass: ActivePass): Promise<UnseenKeys> {
    return this.find(area, (key) => !hasMet(pass, area, key));
  }

  /** Keys of the index, as of the last commit, that a test takes. Nothing of the collection is written meanwhile. */
  find(area: IndexArea, test: (key: string) => boolean): Promise<UnseenKeys> {
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
  flush(pass: ActivePass, completion: PassCompletion | 'incomplete' | null = null): Promise<void> {
    return this.#run(async () => {
      if (this.#pending.size === 0 && completion === null) return;
      const { records, changes } = this.#pending;
      const { progress, committedAtMs } = await this.#parts.commit({
        records,
        progress: this.#nextProgress(pass, completion),
      });
      await this.#parts.index.apply(
        this.#indexed,
        {
          sequence: progress.sequence,
          transactionId: progress.transactionId,
          committedAtMs,
          offsets: progress.offsets,
        },
        changes,
      );
      this.#indexed = progress.transactionId;
      this.#progress = progress;
      this.#pending = new PendingTransaction(this.#parts);
    });
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
    pass.stamp = Math.max(pass.stamp, page.stamp);
    addTally(pass.stats, tally);
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

  #nextProgress(pass: ActivePass, completion: PassCompletion | 'incomplete' | null): Progress {
    const { stats } = pass;
    const before = this.#progress;
    const done = completion === null || completion === 'incomplete' ? null : completion;
    const offsets = before?.offsets ?? this.#offsetsAtStart;
    return {
      collection: this.#parts.collection,
      sequence: (before?.sequence ?? 0) + 1,
      transactionId: this.#pending.transactionId,
      passId: stats.passId,
      mode: stats.mode,
      complete: done !== null,
      startedAtMs: stats.startedAtMs,
      rowsSeen: stats.rowsSeen,
      rowsPublished: stats.rowsCreated + stats.rowsUpdated,
      rowsRejected: stats.rowsRejected,
      rowsRemoved: stats.rowsRemoved,
      rowsWithheld: stats.rowsWithheld,
      totalAtStart: stats.totalAtStart,
      totalAtEnd: stats.totalAtEnd,
      // It may go back: a hub's clock that ran ahead and was set right would else hide what changes meanwhile.
      watermarkMs: done === null ? (before?.watermarkMs ?? null) : done.watermarkMs,
      offsets,
      lastCompleteFull:
        done?.lastCompleteFull == null
          ? (before?.lastCompleteFull ?? null)
          : { ...done.lastCompleteFull, offsets },
    };
  }

  #note(change: Change): void {
    this.#pending.note(change);
    if (change.kind === 'created') this.#known[change.area] += 1;
    if (change.kind === 'deleted') this.#known[change.area] -= 1;
    this.#stamp += 1;
    this.#publishedAt.set(change.key, this.#stamp);
  }

  async #lookUp(area: IndexArea, keys: readonly string[]): Promise<ReadonlyMap<string, Buffer | null>> {
    if (keys.length === 0 || this.#known[area] === 0) return new Map();
    const hashes = await this.#parts.index.lookup(area, keys, this.#indexed);
    return new Map(keys.map((key, position) => [key, hashes[position] ?? null]));
  }

  #knownHash(area: IndexArea, key: string, indexed: ReadonlyMap<string, Buffer | null>): Buffer | null {
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
