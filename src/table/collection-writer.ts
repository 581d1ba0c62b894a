import type { RememberedPage } from '../core/pages/page-memory.ts';
import type { Change, KeyedRow, PageTally } from '../core/row-changes.ts';
import type { Committed, OutgoingRecord, Transaction } from '../log/log.ts';
import { STATE_TOPIC, type CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { SyncStats } from '../core/sync-stats.ts';
import { keysSeenBefore, syncWithoutScan, type ActiveSync } from './active-sync.ts';
import type { View, ViewedSync, ViewedTransaction } from './view.ts';
import { changelogRecords } from './changelog.ts';
import { CollectionProgress } from './collection-progress.ts';
import { KnownRows } from './table.ts';
import type { WriterStart } from './collection-progress.ts';
import type { FetchedRows } from './view.ts';
import type { MissingRows } from './missing-rows.ts';
import type { Completion, DerivedRows } from './next-progress.ts';
import { Table, type IsEnough, type RowPage, type TableParts } from './table.ts';
import { TaskQueue } from './task-queue.ts';

export interface ViewParts {
  readonly view: View;
  /** Asks the hub for single rows; null if it does not answer at present. */
  readonly fetchRows: (ids: readonly string[], readVersion: () => number) => Promise<FetchedRows | null>;
  /** The records that make the changelog equal to the index. `at` returns the transaction that the index reflects. */
  readonly changelog: (at: () => string) => AsyncIterable<readonly OutgoingRecord[]>;
}

export interface WriterParts extends Omit<TableParts, 'hasView' | 'onSeen' | 'live'> {
  /** Commits one transaction at a time for the whole tenant. */
  readonly commit: (transaction: Transaction) => Promise<Committed>;
  /** Only for `absence-versions`: derives absences and their changes. */
  readonly viewed?: ViewParts | undefined;
  /** What syncs remember as missing: it forgets what the hub shows before the commit that follows. */
  readonly missing?: MissingRows | undefined;
}

const NOT_COUNTED: DerivedRows = { absences: 0, 'absence-changes': 0 };
const NONE_SEEN_BEFORE: ReadonlySet<string> = new Set();

/**
 * The only place where a collection's rows become records: its {@link Table} decides and stages, and it commits: to Kafka
 * first, and then it applies the changes to the index, both before the next decision (invariants 1 and 2).
 *
 * Several syncs of one collection may share it; all tasks run one after another.
 */
export class CollectionWriter {
  readonly #parts: WriterParts;
  readonly #queue = new TaskQueue();
  readonly #table: Table;
  readonly known: KnownRows;
  readonly committed: CollectionProgress;

  constructor(parts: WriterParts, start: WriterStart) {
    const { missing } = parts;
    this.#parts = parts;
    this.committed = new CollectionProgress(parts.collection, parts.reader.mapping ?? null, start);
    const view = parts.viewed?.view;
    const onSeen = missing === undefined ? undefined : missing.noteSeen.bind(missing);
    const live =
      view === undefined
        ? undefined
        : (ids: readonly string[]) => view.live(ids, this.#table.lookUpCommitted);
    this.#table = new Table({ ...parts, onSeen, live, hasView: view !== undefined }, start);
    this.known = new KnownRows(this.#table, this.#queue);
  }

  get progress(): Progress | null {
    return this.committed.last;
  }

  get hasPending(): boolean {
    return !this.#table.staged.isEmpty;
  }

  get isFull(): boolean {
    return this.#table.isFull;
  }

  /** See {@link TransactionSize.rowsAtOnce}. */
  get rowsAtOnce(): number {
    return this.#parts.size.rowsAtOnce;
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
    return this.#queue.run(() => this.#decide(sync, page, keysSeenBefore(sync, page.rows)));
  }

  /**
   * Like {@link accept}, if `isEnough` accepts the number of known rows in the page; otherwise returns null and changes
   * nothing.
   */
  acceptIf(sync: ActiveSync, page: RowPage, isEnough: IsEnough): Promise<PageTally | null> {
    return this.#queue.run(async () => {
      const { hashes, known } = await this.#table.lookUpPage(page);
      if (!isEnough(page.rows.length, known)) return null;
      return this.#decide(sync, page, keysSeenBefore(sync, page.rows), hashes);
    });
  }

  /** Takes a page that was recognised, if all its rows are still unchanged; else null, and nothing is noted. */
  acceptKnown(sync: ActiveSync, page: RememberedPage, readVersion: number): Promise<PageTally | null> {
    // Where what follows from unchanged rows is asked for too, each row is decided.
    return this.#queue.run(async () =>
      this.#keepsUnchanged(sync) ? null : this.#table.acceptKnown(sync, page, readVersion),
    );
  }

  /** Publishes values that a sync has read and deferred to its end. */
  publish(sync: ActiveSync, rows: readonly KeyedRow[]): Promise<PageTally> {
    return this.#queue.run(() =>
      this.#decide(sync, { rows, readVersion: this.#table.readVersion }, new Set()),
    );
  }

  #decide(
    sync: ActiveSync,
    page: RowPage,
    seenBefore: ReadonlySet<string>,
    hashes?: ReadonlyMap<string, Buffer | null>,
  ): Promise<PageTally> {
    const { viewed, missing } = this.#parts;
    // A row that comes back unchanged may have been missed when everything was derived.
    const isBack = ({ key }: KeyedRow): boolean =>
      viewed !== undefined && key !== null && missing?.has(key) === true;
    const kept = this.#keepsUnchanged(sync) ? page.rows : page.rows.filter(isBack);
    return this.#table.decide(sync, page, { seenBefore, hashes, kept });
  }

  /** Stages removals that a sync has decided on, except for keys that a sync has read since (invariant 3). */
  async remove(sync: ActiveSync, area: Change['area'], keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length;) {
      const some = keys.slice(from, from + this.#parts.size.rows);
      from += some.length;
      await this.#queue.run(() => this.#table.remove(sync, area, some));
      if (this.isFull) await this.flush(sync);
    }
  }

  /** Commits the staged changes. Without changes it commits only the completion of a sync. */
  flush(sync: ActiveSync, completion: Completion | null = null): Promise<void> {
    return this.#queue.run(() => this.#flush(sync, completion));
  }

  async #flush(sync: ActiveSync, completion: Completion | null): Promise<void> {
    const { now, size } = this.#parts;
    const rows = this.#table.staged.size;
    const { rowsRejected } = sync.stats;
    await this.#derive(sync, completion);
    if (!this.hasPending && completion === null) return;
    const rejected = sync.stats.rowsRejected - rowsRejected;
    const startedAtMs = now();
    try {
      await this.#commit(sync, rejected === 0 ? completion : withRejected(completion, rejected));
    } finally {
      size.note(rows, now() - startedAtMs);
    }
  }

  async #commit(sync: ActiveSync, completion: Completion | null = null): Promise<void> {
    const { records, changes, transactionId, derived: outcomes } = this.#table.staged;
    const { viewed, missing } = this.#parts;
    const { stats } = sync;
    // What was seen may be forgotten although the commit fails.
    await missing?.dropSeen();
    const next = this.committed.next({ transactionId, stats, completion });
    const { progress, derived, committedAtMs } = await this.#parts.commit({
      records: viewed === undefined ? records : [...records, ...changelogRecords(changes)],
      progress: next,
      derived: await this.#nextDerived(next, stats),
      // An incomplete changelog may have lost any of its records, so its present content counts.
      lostTopics:
        viewed !== undefined && this.committed.last?.absenceState === undefined ? [STATE_TOPIC] : [],
    });
    await this.#parts.index.apply(
      this.#table.indexed,
      {
        sequence: progress.sequence,
        transactionId: progress.transactionId,
        committedAtMs,
        offsets: this.committed.offsetsAfter([progress, ...derived]),
        firstOffsets: this.committed.firstOffsets,
      },
      changes,
    );
    this.#table.applied(progress.transactionId);
    this.committed.committed(progress, derived);
    for (const outcome of outcomes) viewed?.view.committed(outcome);
  }

  async #nextDerived(next: Progress, stats: SyncStats): Promise<readonly Progress[]> {
    const { viewed } = this.#parts;
    if (viewed === undefined) return [];
    // Only the progress record of a complete full sync has these counts.
    const rows =
      next.complete && next.mode === 'FULL'
        ? await viewed.view.countRows(this.#table.staged.changes, this.#table.lookUpCommitted)
        : NOT_COUNTED;
    return this.committed.nextDerived(next, stats, rows);
  }

  async #derive(sync: ActiveSync, completion: Completion | null): Promise<void> {
    const { viewed } = this.#parts;
    if (viewed === undefined) return;
    const isFirstLoad = !this.committed.isFirstLoadOver;
    const isIncremental = sync.seen === null;
    const isComplete = completion !== 'incomplete' && completion?.lastCompleteFull != null;
    const facts: ViewedSync = {
      isFirstLoad,
      isBesideFull: isIncremental && (isFirstLoad || this.#table.isFullSyncRunning),
      end: completion === null ? null : { isComplete },
      republishes: sync.republication?.absences,
    };
    await viewed.view.derive(this.#viewedTransaction(sync, viewed), facts);
  }

  /**
   * Whether unchanged rows are derived from, too: the derived records were never published completely, or are requested
   * again. A full sync reads the rows anyway, so nothing has to be read back from the log.
   */
  #keepsUnchanged(sync: ActiveSync): boolean {
    if (this.#parts.viewed === undefined || sync.seen === null) return false;
    const isWhole = this.committed.derived.every((each) => each?.lastCompleteFull != null);
    return !isWhole || sync.republication?.absences !== undefined;
  }

  #viewedTransaction(sync: ActiveSync, { fetchRows }: ViewParts): ViewedTransaction {
    const table = this.#table;
    return {
      get isEmpty() {
        return table.staged.isEmpty;
      },
      get isFull() {
        return table.isFull;
      },
      get place() {
        return table.staged.next;
      },
      takeRows: () => table.staged.takeRows(),
      bodyOf: (value) => table.staged.bodies.get(value),
      hashesOf: (keys) => table.hashesOf(keys),
      lookUp: table.lookUpCommitted,
      changedKeys: (area) => table.staged.keysOf(area),
      add: (derived) => {
        table.staged.add(derived);
        for (const [kind, count] of Object.entries(derived.tally))
          sync.stats.chains[kind as keyof typeof derived.tally] += count;
      },
      reject: (rows, reason) => table.reject(sync, rows, reason),
      ask: async (keys) => {
        const found = await fetchRows(keys, this.readVersion);
        // The scan may still read these rows, with newer content.
        for (const page of found ?? [])
          await table.decide(
            sync,
            { ...page, isAskedFor: true },
            { seenBefore: NONE_SEEN_BEFORE, kept: page.rows },
          );
        return found !== null;
      },
      commit: () => this.#commit(sync),
    };
  }

  /** Reads the index while no task writes or rebuilds it, so that a part of it is not taken for all of it. */
  undisturbed<T>(read: () => Promise<T>): Promise<T> {
    return this.#queue.run(read);
  }

  /**
   * Commits the staged changes and rebuilds the index, while no other task runs. `make` must leave the index equal to
   * the log, and returns the state from which the writer continues.
   */
  reindex(make: (isFirstLoadOver: boolean) => Promise<WriterStart>): Promise<void> {
    return this.#queue.run(async () => {
      await this.#flush(this.#syncOfItsOwn(), null);
      const start = await make(this.committed.isFirstLoadOver);
      this.committed.restart(start);
      this.#table.reset(start);
      await this.#importChangelog();
    });
  }

  /** Publishes the index of absences to `absence-state`, unless the topic holds it already. Called before the first sync. */
  importChangelog(): Promise<void> {
    return this.#queue.run(() => this.#importChangelog());
  }

  async #importChangelog(): Promise<void> {
    const { viewed } = this.#parts;
    if (viewed === undefined || this.committed.isChangelogComplete) return;
    const sync = this.#syncOfItsOwn();
    let isEmpty = true;
    for await (const records of viewed.changelog(() => this.#table.indexed)) {
      // Withdraws the mark of a lost changelog from `progress`, before `progress` has offsets of the new changelog.
      if (isEmpty && this.progress !== null) await this.#commit(sync);
      isEmpty = false;
      this.#table.staged.reissue(records);
      await this.#commit(sync);
    }
    // The next transaction records it. For an empty index any later transaction may.
    this.committed.markChangelogComplete();
    if (!isEmpty) await this.#commit(sync);
  }

  /** Decides rows outside a scan, under a sync of its own, and commits the changes. */
  async withoutScan(work: (sync: ActiveSync) => Promise<void>): Promise<void> {
    const sync = this.#syncOfItsOwn();
    this.begin(sync);
    try {
      await work(sync);
      await this.flush(sync);
    } finally {
      this.end(sync);
    }
  }

  /** Creates a sync for a transaction outside a scan. */
  #syncOfItsOwn(): ActiveSync {
    return syncWithoutScan(this.#parts, this);
  }

  /** Commits that a collection was published again, so that the schema ids that the registry had lost are of the past. */
  publishedAgain(collection: CollectionName): Promise<void> {
    return this.#queue.run(async () => {
      if (this.committed.forgetLostSchemas(collection)) await this.#commit(this.#syncOfItsOwn());
    });
  }

  /**
   * Publishes records of derived topics that do not change the index, while no other task runs: `work` gets a function
   * that publishes some in a transaction. Each record is made with its `ce_id`.
   */
  async reissue(
    work: (publish: (records: readonly ((id: string) => OutgoingRecord)[]) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const failure = await this.#queue.run(async () => {
      const sync = this.#syncOfItsOwn();
      await this.#flush(sync, null);
      let isCommitting = false;
      const publish = async (records: readonly ((id: string) => OutgoingRecord)[]): Promise<void> => {
        const { staged } = this.#table;
        isCommitting = true;
        staged.reissue(records.map((make, index) => make(`${staged.transactionId}-${index}`)));
        await this.#commit(sync);
        isCommitting = false;
      };
      return work(publish).then(
        () => null,
        (error: unknown) => {
          // Only a transaction that failed leaves something uncertain; otherwise the writer goes on.
          if (isCommitting) throw error;
          return { error };
        },
      );
    });
    if (failure !== null) throw failure.error;
  }
}

/** Readable rows that became rejects at the very end. */
function withRejected(completion: Completion | null, rejected: number): Completion | null {
  if (completion === null || completion === 'incomplete' || completion.lastCompleteFull === null)
    return completion;
  const { rows, rowsRejected } = completion.lastCompleteFull;
  const lastCompleteFull = {
    ...completion.lastCompleteFull,
    rows: rows - rejected,
    rowsRejected: rowsRejected + rejected,
  };
  return { ...completion, lastCompleteFull };
}
