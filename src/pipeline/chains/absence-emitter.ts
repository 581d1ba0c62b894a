import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { KeyedRow } from '../../core/row-changes.ts';
import type { Progress } from '../../model/progress.ts';
import { hasMet, type ActiveSync } from '../active-sync.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import type { PendingTransaction } from '../pending-transaction.ts';
import type { AbsenceView } from './absence-view.ts';
import type { LookUp } from './chain-lookup.ts';
import type { ChainOutcome, ChainTask, FetchedVersions } from './chain-task.ts';

/** Versions that a chain refers to and that the page did not bring: more of them wait for the sync's end. */
const ASK_AT_ONCE_AT_MOST = 50;
const ASK_AT_END_AT_MOST = 2_000;

type Page = { readonly readings: readonly KeyedRow[]; readonly readVersion: number };

export interface ChainParts {
  readonly view: AbsenceView;
  /** Asks the hub for single rows; null when it cannot be had at present. */
  readonly fetch: (
    ids: readonly string[],
    readVersion: () => number,
  ) => Promise<{ readonly pages: readonly Page[]; readonly gone: readonly string[] } | null>;
  /** The records that make `absence-state` equal to the index; see `importedRecords`. */
  readonly importedRecords: (at: () => string) => AsyncIterable<readonly OutgoingRecord[]>;
  /** Called after the commit. */
  readonly onCommitted: (outcome: ChainOutcome) => void;
}

/** What is needed of the writer of `absence-versions`, whose transactions also carry what follows from them. */
export interface UnitOfWork {
  pending(): PendingTransaction;
  isFull(): boolean;
  commit(sync: ActiveSync): Promise<void>;
  /** The index as of the last commit. */
  readonly lookUp: LookUp;
  /** As of what is about to be committed. */
  hashesOf(versionIds: readonly string[]): Promise<ReadonlyMap<string, Buffer | null>>;
  /** Rows that were asked for one by one are decided like those of a page. */
  decide(sync: ActiveSync, page: Page): Promise<unknown>;
  readonly readVersion: () => number;
  /** Of the next transaction. */
  sequence(): number;
  progress(): Progress | null;
  /** Whether all absences were published at least once: later events are no snapshot. */
  isFirstLoadOver(): boolean;
  isFullSyncRunning(): boolean;
  /** Whether rows were published under another mapping. */
  isMappingNew(): boolean;
}

/** How a sync ends: not yet · without having seen everything the hub has, for certain · having seen it. */
export interface SyncEnd {
  readonly isComplete: boolean;
  readonly isProven: boolean;
}

const IN_PAGES = { mode: 'page', isComplete: false, isProven: false } as const;

/**
 * Adds to a transaction what follows from the changed versions in it; at a sync's end also what was left open, which may
 * take transactions of its own.
 */
export class AbsenceEmitter {
  readonly #parts: ChainParts;
  readonly #unitOfWork: UnitOfWork;

  constructor(parts: ChainParts, unitOfWork: UnitOfWork) {
    this.#parts = parts;
    this.#unitOfWork = unitOfWork;
  }

  /**
   * Whether a full sync publishes what follows from unchanged versions, because it was lost,
   * was never published, or is requested again. The sync brings their records, so that nothing has to read them back out of the log.
   */
  republishes(sync: ActiveSync): boolean {
    return sync.seen !== null && (this.#isSnapshot || sync.republication?.absences !== undefined);
  }

  /** To be called right before each commit. `end`: null in the middle of the sync. */
  async emitChanges(sync: ActiveSync, end: SyncEnd | null): Promise<void> {
    const { view } = this.#parts;
    const unitOfWork = this.#unitOfWork;
    if (end === null || this.#leavesPending(sync)) {
      if (!unitOfWork.pending().isEmpty) await this.#resolveChains(sync, { ...IN_PAGES, revisit: [] });
      return;
    }
    const { isProven, isComplete } = end;
    let isResolved = false;
    for await (const revisit of view.pendingVersions()) {
      // The next resolution must see the previous one.
      if (isResolved) await unitOfWork.commit(sync);
      await this.#resolveChains(sync, { mode: 'final', revisit, isProven, isComplete });
      isResolved = true;
    }
    if (!isResolved && !unitOfWork.pending().isEmpty) {
      await this.#resolveChains(sync, { mode: 'final', revisit: [], isProven, isComplete });
    }
    // An index that was lost meanwhile had nothing open, either.
    await unitOfWork.lookUp('open', []);
    if (!end.isComplete) return;
    const hidesUnattributed = this.#isSnapshot || sync.republication?.hidesUnattributed === true;
    if (hidesUnattributed && isProven) await this.#hideOrphans(sync);
    await this.#forget(sync);
  }

  get #isSnapshot(): boolean {
    return !this.#unitOfWork.isFirstLoadOver();
  }

  /** An incremental sync publishes what it can; it does not end what a full sync or a first load has left pending. */
  #leavesPending(sync: ActiveSync): boolean {
    return sync.seen === null && (this.#isSnapshot || this.#unitOfWork.isFullSyncRunning());
  }

  async #hideOrphans(sync: ActiveSync): Promise<void> {
    const unitOfWork = this.#unitOfWork;
    const onCommitted = unitOfWork.pending().keysOf('absences');
    for await (const outcome of this.#parts.view.hideUnattributed(
      () => unitOfWork.pending().next,
      onCommitted,
    )) {
      await this.#add(sync, outcome);
    }
  }

  /** What is too old; but nothing that is about to be committed anyway. */
  async #forget(sync: ActiveSync): Promise<void> {
    const { view } = this.#parts;
    const unitOfWork = this.#unitOfWork;
    const ended = unitOfWork.pending().keysOf('ended');
    for await (const outcome of view.forgetDeleted(() => unitOfWork.pending().next, ended)) {
      await this.#add(sync, outcome);
    }
    const absent = unitOfWork.pending().keysOf('absent');
    for await (const changes of view.outlivedAbsents(absent)) {
      unitOfWork.pending().changes.push(...changes);
      if (unitOfWork.isFull()) await unitOfWork.commit(sync);
    }
  }

  async #add(sync: ActiveSync, outcome: ChainOutcome): Promise<void> {
    this.#note(sync, outcome);
    if (this.#unitOfWork.isFull()) await this.#unitOfWork.commit(sync);
  }

  #note({ stats }: ActiveSync, outcome: ChainOutcome): void {
    this.#unitOfWork.pending().add(outcome);
    for (const [kind, count] of Object.entries(outcome.tally)) {
      stats.chains[kind as keyof ChainOutcome['tally']] += count;
    }
  }

  async #resolveChains(sync: ActiveSync, how: Pick<ChainTask, 'mode' | 'revisit'> & SyncEnd): Promise<void> {
    const { view } = this.#parts;
    const unitOfWork = this.#unitOfWork;
    const snapshot = this.#isSnapshot;
    // A full sync mostly brings the rest by itself.
    const askInPages = sync.seen === null ? ASK_AT_ONCE_AT_MOST : 0;
    // A lost topic of versions is filled again; the events were not lost.
    const isRefill = !snapshot && unitOfWork.progress()?.lastCompleteFull == null;
    const outcome = await view.resolve({
      ...how,
      ...unitOfWork.pending().takeVersions(),
      ...unitOfWork.pending().next,
      sequence: unitOfWork.sequence(),
      snapshot,
      republishes: sync.republication?.absences,
      forgottenBeforeMs: isRefill ? view.forgottenBeforeMs : null,
      awaitsStudents: unitOfWork.isMappingNew() && !how.isComplete,
      askAtMost: how.mode === 'final' ? ASK_AT_END_AT_MOST : askInPages,
      isGone: how.isProven ? (id) => !hasMet(sync, 'rows', id) : null,
      lookUp: unitOfWork.lookUp,
      hashesOf: (ids) => unitOfWork.hashesOf(ids),
      fetch: (ids) => this.#fetch(sync, ids),
    });
    this.#note(sync, outcome);
  }

  async #fetch(sync: ActiveSync, ids: readonly string[]): Promise<FetchedVersions> {
    const unitOfWork = this.#unitOfWork;
    const found = await this.#parts.fetch(ids, unitOfWork.readVersion);
    if (found === null) return { versions: [], gone: [], isFailed: true };
    for (const page of found.pages) await unitOfWork.decide(sync, page);
    unitOfWork.pending().takeVersions();
    const readings = found.pages.flatMap((page) => page.readings.map(({ decoded: reading }) => reading));
    const versions = readings.flatMap((reading) =>
      reading.kind === 'row' ? [reading.value as AbsenceVersionValue] : [],
    );
    return { versions, gone: found.gone, isFailed: false };
  }
}
