import type { RememberedPage } from '../core/pages/page-memory.ts';
import type { Change, KeyedRow, PageTally } from '../core/rows/compare-with-published.ts';
import type { Committed, OutgoingRecord, Transaction } from '../log/log.ts';
import { hasCode } from '../errors.ts';
import { STATE_TOPIC, type CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import { newSyncStats, type SyncStats } from '../core/sync-stats.ts';
import { keysSeenBefore, type ActiveSync } from './active-sync.ts';
import { changelogRecords } from './changelog.ts';
import { CollectionProgress, type Completion, type WriterStart } from './collection-progress.ts';
import { Table, type Gate, type RowPage, type SessionMemory } from './table.ts';
import type { Tenant, TenantCollection } from './tenant.ts';

/**
 * The only place where the rows of a collection become records. Its {@link Table} decides and stages. The writer
 * commits: first to Kafka, and then it applies the changes to the index. Both happen before the next decision
 * (invariants 1 and 2).
 *
 * Several syncs of one collection may share it. All tasks run one after another.
 */
export class CollectionWriter {
  readonly #tenant: Tenant;
  readonly #own: TenantCollection;
  readonly #memory: SessionMemory;
  readonly #table: Table;
  readonly committed: CollectionProgress;
  #lastTask: Promise<unknown> = Promise.resolve();

  constructor(tenant: Tenant, own: TenantCollection, memory: SessionMemory, start: WriterStart) {
    this.#tenant = tenant;
    this.#own = own;
    this.#memory = memory;
    this.committed = new CollectionProgress(own.name, own.reader.mapping, start);
    this.#table = new Table(tenant, own, memory);
    this.#table.reset(start);
  }

  /**
   * Runs tasks one after another, in their order. After a task has failed, it runs none: after a failure of log or
   * index their content is uncertain, so nothing may be decided on it.
   */
  #run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#lastTask.then(task);
    this.#lastTask = result;
    // The caller gets this failure, or the failure of a later task.
    result.catch(() => undefined);
    return result;
  }

  get progress(): Progress | null {
    return this.committed.last;
  }

  /** Number of keys, with the staged changes. */
  get known(): Readonly<Table['known']> {
    return this.#table.known;
  }

  get hasPending(): boolean {
    return !this.#table.staged.isEmpty;
  }

  get isFull(): boolean {
    return this.#table.isFull;
  }

  /** Returns the present read version. A page carries the read version of the time when its request was sent. */
  readonly readVersion = (): number => this.#table.syncs.readVersion;

  begin(sync: ActiveSync): void {
    this.#table.syncs.begin(sync);
  }

  end(sync: ActiveSync): void {
    this.#table.syncs.end(sync);
  }

  /** Decides a page's rows; changes are staged until {@link flush}. Returns null, and notes nothing, if the gate does not let it pass. */
  accept(sync: ActiveSync, page: RowPage, gate?: Gate): Promise<PageTally | null> {
    return this.#run(() => this.#decide(sync, page, { seenBefore: keysSeenBefore(sync, page.rows), gate }));
  }

  /** Takes a page that was recognised, if all its rows are still unchanged. Otherwise it returns null, and notes nothing. */
  acceptKnown(sync: ActiveSync, page: RememberedPage, readVersion: number): Promise<PageTally | null> {
    // If something is to be derived from unchanged rows, too, each row must be decided.
    return this.#run(async () =>
      this.#keepsUnchanged(sync) ? null : this.#table.acceptKnown(sync, page, readVersion),
    );
  }

  /** Publishes values that a sync has read and deferred to its end. */
  publish(sync: ActiveSync, rows: readonly KeyedRow[]): Promise<PageTally | null> {
    return this.#run(() => {
      const page = { rows, readVersion: this.readVersion() };
      return this.#decide(sync, page, { seenBefore: new Set() });
    });
  }

  #decide(
    sync: ActiveSync,
    page: RowPage,
    options: { seenBefore: ReadonlySet<string>; gate?: Gate | undefined },
  ): Promise<PageTally | null> {
    const { view, deletions } = this.#memory;
    // A row that comes back unchanged was on the list of missing rows when its absence was last derived, so derive it again.
    const isBack = ({ key }: KeyedRow): boolean => view !== undefined && key !== null && deletions.has(key);
    const kept = this.#keepsUnchanged(sync) ? page.rows : page.rows.filter(isBack);
    return this.#table.decide(sync, page, { ...options, kept });
  }

  /** Stages removals that a sync has decided on, except for keys that a sync has read since (invariant 3). */
  async remove(sync: ActiveSync, area: Change['area'], keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length;) {
      const some = keys.slice(from, from + this.#own.size.rows);
      from += some.length;
      await this.#run(() => this.#table.remove(sync, area, some));
      if (this.isFull) await this.flush(sync);
    }
  }

  /** Commits the staged changes. Without changes it commits only the end of a sync, if the sync records one. */
  flush(sync: ActiveSync, completion: Completion = { kind: 'none' }): Promise<void> {
    return this.#run(() => this.#flush(sync, completion));
  }

  async #flush(sync: ActiveSync, completion: Completion = { kind: 'none' }): Promise<void> {
    const { size } = this.#own;
    const { now } = this.#tenant.runtime;
    const rows = this.#table.staged.size;
    await this.#derive(sync, completion);
    if (!this.hasPending && completion.kind === 'none') return;
    const startedAtMs = now();
    try {
      await this.#commit(sync, completion);
    } finally {
      size.note(rows, now() - startedAtMs);
    }
  }

  async #commit(sync: ActiveSync, completion: Completion = { kind: 'none' }): Promise<void> {
    const { records, changes, transactionId, derived: outcomes } = this.#table.staged;
    const { view, deletions } = this.#memory;
    const endedSync = completion.kind === 'none' ? null : sync.stats.syncId;
    const { decisions, ...recorded } = await deletions.beforeCommit(transactionId, endedSync);
    const knownRows = this.known.rows;
    const next = this.committed.next({ transactionId, sync, knownRows, completion, ...recorded });
    const { progress, derived, committedAtMs } = await this.#toLog({
      records: view === undefined ? records : [...records, ...changelogRecords(changes)],
      progress: next,
      derived: await this.#nextDerived(next, sync.stats),
      decisions,
      // As long as `progress` does not call the changelog complete, earlier losses of the changelog do not matter.
      lostTopics: view !== undefined && this.progress?.absenceState === undefined ? [STATE_TOPIC] : [],
    });
    await this.#table.apply({
      sequence: progress.sequence,
      transactionId: progress.transactionId,
      committedAtMs,
      offsets: this.committed.offsetsAfter([progress, ...derived]),
      firstOffsets: this.committed.firstOffsets,
    });
    this.committed.committed(progress, derived);
    await deletions.afterCommit(progress, endedSync);
    for (const event of decisions) this.#tenant.emit({ type: 'deletion', event });
    for (const outcome of outcomes) view?.committed(outcome);
  }

  /** The log runs the transactions of all collections one after another, and refuses those after a failure. */
  async #toLog(transaction: Transaction): Promise<Committed> {
    const { log, emit } = this.#tenant;
    const collection = this.#own.name;
    try {
      const committed = await log.commit(transaction);
      // Records of the changelog do not count, because the changelog is internal.
      const records = transaction.records.reduce((n, { topic }) => n + Number(topic !== STATE_TOPIC), 0);
      emit({ type: 'committed', collection, records, durationMs: committed.tookMs });
      return committed;
    } catch (error) {
      if (hasCode(error, 'KAFKA_OUTCOME_UNKNOWN')) emit({ type: 'commit-failed', collection });
      throw error;
    }
  }

  async #nextDerived(next: Progress, stats: SyncStats): Promise<readonly Progress[]> {
    const { view } = this.#memory;
    if (view === undefined) return [];
    // Only a complete full sync records how many keys the derived topics have.
    const isWhole = next.complete && next.lastCompleteFull?.syncId === next.syncId;
    const rows = isWhole ? await view.countRows(this.#table.lookUpCommitted) : null;
    return this.committed.nextDerived(next, stats, rows);
  }

  async #derive(sync: ActiveSync, completion: Completion): Promise<void> {
    const { view } = this.#memory;
    if (view === undefined) return;
    const isFirstLoad = !this.committed.isFirstLoadOver;
    const isComplete = completion.kind === 'complete' && completion.isWhole;
    await view.derive(this.#table, {
      active: sync,
      isFirstLoad,
      isBesideFull: !sync.isFull && (isFirstLoad || this.#table.syncs.isFullRunning),
      end: completion.kind === 'none' ? null : { isComplete },
      commit: async () => {
        if (this.hasPending) await this.#commit(sync);
      },
    });
  }

  /**
   * Whether something is derived from unchanged rows, too, because the derived records were never published
   * completely, or are requested again. A full sync reads the rows anyway, so nothing has to be read back from the
   * log.
   */
  #keepsUnchanged(sync: ActiveSync): boolean {
    if (this.#memory.view === undefined || !sync.isFull) return false;
    const isWhole = this.committed.derived.every((each) => each?.lastCompleteFull != null);
    return !isWhole || sync.republication?.absences !== undefined;
  }

  /** Reads the index while no task writes or rebuilds it, so that a part of the index is not taken for the whole. */
  read<T>(read: (table: Table) => Promise<T>): Promise<T> {
    return this.#run(() => read(this.#table));
  }

  /**
   * Commits the staged changes and rebuilds the index, while no other task runs. `make` must leave the index equal to
   * the log, and returns the state from which the writer continues.
   */
  reindex(make: () => Promise<WriterStart>): Promise<void> {
    return this.#run(async () => {
      await this.#flush(this.#syncOfItsOwn());
      const start = await make();
      this.committed.restart(start);
      this.#memory.deletions.restart(start.progress);
      this.#table.reset(start);
      await this.#importChangelog();
    });
  }

  /** Publishes the index of absences to `absence-state`, unless the topic holds it already. Called before the first sync. */
  importChangelog(): Promise<void> {
    return this.#run(() => this.#importChangelog());
  }

  async #importChangelog(): Promise<void> {
    const { view } = this.#memory;
    if (view === undefined || this.committed.isChangelogComplete) return;
    const sync = this.#syncOfItsOwn();
    let isEmpty = true;
    for await (const records of view.changelog()) {
      // `progress` may still call the lost changelog complete. Withdraw this before `progress` gets offsets of the new one.
      if (isEmpty && this.progress !== null) await this.#commit(sync);
      isEmpty = false;
      this.#table.staged.reissue(records);
      await this.#commit(sync);
    }
    // The next transaction records that the changelog is complete. If the index is empty, any later transaction may
    // record this.
    this.committed.isChangelogComplete = true;
    if (!isEmpty) await this.#commit(sync);
  }

  /** Creates a sync for a transaction outside a scan. */
  #syncOfItsOwn(): ActiveSync {
    const { now, randomId } = this.#tenant.runtime;
    const startedAtMs = this.progress?.startedAtMs ?? now();
    return {
      stats: newSyncStats({ syncId: randomId(), mode: 'INCREMENTAL', startedAtMs }),
      isFull: false,
      seen: new SeenKeys(0),
      seenByOthers: null,
      seenRejects: null,
      readVersion: this.readVersion(),
    };
  }

  /** Commits that a collection has been published again. After that, the schema ids that the registry had lost do not count any more. */
  publishedAgain(collection: CollectionName): Promise<void> {
    return this.#run(async () => {
      const sync = this.#syncOfItsOwn();
      // If another sync has staged changes, records are derived from these changes before the commit.
      await this.#flush(sync);
      if (this.committed.forgetLostSchemas(collection)) await this.#commit(sync);
    });
  }

  /**
   * Publishes records of derived topics that do not change the index, while no other task runs. `work` gets a
   * function that publishes some records in one transaction. Each record is made with its `ce_id`.
   */
  async reissue(
    work: (publish: (records: readonly ((id: string) => OutgoingRecord)[]) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const failure = await this.#run(async () => {
      const sync = this.#syncOfItsOwn();
      await this.#flush(sync);
      let isCommitting = false;
      const publish = async (records: readonly ((id: string) => OutgoingRecord)[]): Promise<void> => {
        const { staged } = this.#table;
        isCommitting = true;
        staged.reissue(records.map((make, at) => make(staged.derivedId(at))));
        await this.#commit(sync);
        isCommitting = false;
      };
      return work(publish).then(
        () => null,
        (error: unknown) => {
          // Only a transaction that has failed leaves something uncertain. Otherwise the writer goes on.
          if (isCommitting) throw error;
          return { error };
        },
      );
    });
    if (failure !== null) throw failure.error;
  }
}
