import type { Committed, Transaction } from '../log/log.ts';
import { STATE_TOPIC } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import type { ActiveSync } from './active-sync.ts';
import { changelogRecords } from './changelog.ts';
import type { View } from './view.ts';
import type { CollectionProgress } from './collection-progress.ts';
import type { Completion, DerivedRows } from './next-progress.ts';
import type { SyncStats } from '../core/sync-stats.ts';
import type { Table } from './table.ts';

export interface CommitParts {
  /** Commits one transaction at a time for the whole tenant. */
  readonly commit: (transaction: Transaction) => Promise<Committed>;
  readonly index: Pick<CollectionIndex, 'apply'>;
  /** Lifts no caution: what it writes may be written although the commit fails. */
  readonly beforeCommit?: (() => Promise<void>) | undefined;
  /** Only for `absence-versions`, whose transactions carry the derived records. */
  readonly view?: View | undefined;
}

const NOT_COUNTED: DerivedRows = { absences: 0, 'absence-changes': 0 };

/**
 * Commits what a {@link Table} has staged: to Kafka first, and then it applies the changes to the index, both before the
 * next decision (invariants 1 and 2). Its user runs one commit after another.
 */
export class UnitOfWork {
  readonly table: Table;
  readonly progress: CollectionProgress;
  readonly #parts: CommitParts;

  constructor(parts: CommitParts, table: Table, progress: CollectionProgress) {
    this.#parts = parts;
    this.table = table;
    this.progress = progress;
  }

  async commit(sync: ActiveSync, completion: Completion | null = null): Promise<void> {
    const { records, changes, transactionId, derived: outcomes } = this.table.staged;
    const { view } = this.#parts;
    const { stats, deletions } = sync;
    await this.#parts.beforeCommit?.();
    const next = this.progress.next({ transactionId, stats, completion, deletions });
    const { progress, derived, committedAtMs } = await this.#parts.commit({
      records: view === undefined ? records : [...records, ...changelogRecords(changes)],
      progress: next,
      derived: await this.#nextDerived(next, stats),
      // An incomplete changelog may have lost any of its records, so its present content counts.
      lostTopics: view !== undefined && this.progress.last?.absenceState === undefined ? [STATE_TOPIC] : [],
    });
    await this.#parts.index.apply(
      this.table.indexed,
      {
        sequence: progress.sequence,
        transactionId: progress.transactionId,
        committedAtMs,
        offsets: this.progress.offsetsAfter([progress, ...derived]),
        firstOffsets: this.progress.firstOffsets,
      },
      changes,
    );
    this.table.applied(progress.transactionId);
    this.progress.committed(progress, derived);
    for (const outcome of outcomes) view?.committed(outcome);
  }

  async #nextDerived(next: Progress, stats: SyncStats): Promise<readonly Progress[]> {
    const { view } = this.#parts;
    if (view === undefined) return [];
    // Only the progress record of a complete full sync has these counts.
    const rows =
      next.complete && next.mode === 'FULL'
        ? await view.countRows(this.table.staged.changes, this.table.lookUpCommitted)
        : NOT_COUNTED;
    return this.progress.nextDerived(next, stats, rows);
  }
}
