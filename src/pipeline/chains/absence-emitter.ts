import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { KeyedRow } from '../../core/row-changes.ts';
import { hasSeen, type ActiveSync } from '../active-sync.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { AbsenceView } from './absence-view.ts';
import type { ChainOutcome, ChainTask, ChangedVersions, FetchedVersions } from './chain-task.ts';

/**
 * At most so many referenced versions that no page brought are asked for in an incremental sync's transaction; the rest
 * waits for the end of the sync.
 */
const ASK_AT_ONCE_AT_MOST = 50;
const ASK_AT_END_AT_MOST = 2_000;

type Page = { readonly rows: readonly KeyedRow[]; readonly readVersion: number };

export interface ChainParts {
  readonly view: AbsenceView;
  /** Asks the hub for single rows; null if the hub does not answer at present. */
  readonly fetch: (
    ids: readonly string[],
    readVersion: () => number,
  ) => Promise<{ readonly pages: readonly Page[]; readonly gone: readonly string[] } | null>;
  /** The records that make `absence-state` equal to the index; see `importedRecords`. */
  readonly importedRecords: (at: () => string) => AsyncIterable<readonly OutgoingRecord[]>;
  /** Called after the commit. */
  readonly onCommitted: (outcome: ChainOutcome) => void;
}

/**
 * How a sync ends. `isComplete`: it is a complete full sync. `isProven`: its scan certainly saw everything at the hub.
 */
export interface SyncEnd {
  readonly isComplete: boolean;
  readonly isProven: boolean;
}

const NONE_SEEN_BEFORE: ReadonlySet<string> = new Set();
const IN_PAGES = { mode: 'page', isComplete: false, isProven: false } as const;

/**
 * Adds to each transaction the records that follow from its changed versions. At the end of a sync it also resolves the
 * pending chains, which may take several transactions.
 */
export class AbsenceEmitter {
  readonly #parts: ChainParts;
  readonly #unitOfWork: UnitOfWork;

  constructor(parts: ChainParts, unitOfWork: UnitOfWork) {
    this.#parts = parts;
    this.#unitOfWork = unitOfWork;
  }

  /**
   * Whether a full sync also derives records from unchanged versions: the derived records were lost, were never
   * published, or are requested again. The sync reads the versions anyway, so nothing has to be read back from the log.
   */
  republishes(sync: ActiveSync): boolean {
    return sync.seen !== null && (this.#isSnapshot || sync.republication?.absences !== undefined);
  }

  /** Called right before each commit. `end`: null in the middle of the sync. */
  async emitChanges(sync: ActiveSync, end: SyncEnd | null): Promise<void> {
    const { view } = this.#parts;
    const unitOfWork = this.#unitOfWork;
    if (end === null || this.#leavesPending(sync)) {
      if (!unitOfWork.table.staged.isEmpty) await this.#resolveChains(sync, { ...IN_PAGES, revisit: [] });
      return;
    }
    const { isProven, isComplete } = end;
    let isResolved = false;
    for await (const group of view.pendingVersions()) {
      // The next resolution must see the result of the previous one.
      if (isResolved) await unitOfWork.commit(sync);
      const batches = await view.readBack(group, unitOfWork.table.lookUpCommitted);
      for (const [at, revisit] of batches.entries()) {
        if (at > 0) await unitOfWork.commit(sync);
        await this.#resolveChains(sync, { mode: 'final', revisit, isProven, isComplete });
      }
      isResolved = true;
    }
    if (!isResolved && !unitOfWork.table.staged.isEmpty) {
      await this.#resolveChains(sync, { mode: 'final', revisit: [], isProven, isComplete });
    }
    // This throws if the index was lost meanwhile, since a lost index shows no pending chains.
    await unitOfWork.table.lookUpCommitted('open', []);
    if (!end.isComplete) return;
    const hidesWithoutEvent = this.#isSnapshot || sync.republication?.hidesWithoutEvent === true;
    if (hidesWithoutEvent && isProven) await this.#hideWithoutEvent(sync);
    await this.#forget(sync);
  }

  get #isSnapshot(): boolean {
    return !this.#unitOfWork.progress.isFirstLoadOver;
  }

  /** An incremental sync leaves chains pending that a running full sync or first load will resolve. */
  #leavesPending(sync: ActiveSync): boolean {
    return sync.seen === null && (this.#isSnapshot || this.#unitOfWork.table.isFullSyncRunning);
  }

  async #hideWithoutEvent(sync: ActiveSync): Promise<void> {
    const unitOfWork = this.#unitOfWork;
    const onCommitted = unitOfWork.table.staged.keysOf('absences');
    for await (const outcome of this.#parts.view.hideWithoutEvent(
      () => unitOfWork.table.staged.next,
      onCommitted,
    )) {
      await this.#add(sync, outcome);
    }
  }

  /** Forgets what is too old, except entries that the pending transaction changes. */
  async #forget(sync: ActiveSync): Promise<void> {
    const { view } = this.#parts;
    const unitOfWork = this.#unitOfWork;
    const ended = unitOfWork.table.staged.keysOf('ended');
    for await (const outcome of view.forgetDeleted(() => unitOfWork.table.staged.next, ended)) {
      await this.#add(sync, outcome);
    }
    const absent = unitOfWork.table.staged.keysOf('absent');
    for await (const changes of view.outlivedAbsents(absent)) {
      unitOfWork.table.staged.changes.push(...changes);
      if (unitOfWork.table.isFull) await unitOfWork.commit(sync);
    }
  }

  async #add(sync: ActiveSync, outcome: ChainOutcome): Promise<void> {
    this.#note(sync, outcome);
    if (this.#unitOfWork.table.isFull) await this.#unitOfWork.commit(sync);
  }

  #note({ stats }: ActiveSync, outcome: ChainOutcome): void {
    this.#unitOfWork.table.staged.add(outcome);
    for (const [kind, count] of Object.entries(outcome.tally)) {
      stats.chains[kind as keyof ChainOutcome['tally']] += count;
    }
  }

  async #resolveChains(
    sync: ActiveSync,
    how: Pick<ChainTask, 'mode'> & Pick<ChangedVersions, 'revisit'> & SyncEnd,
  ): Promise<void> {
    const { view } = this.#parts;
    const unitOfWork = this.#unitOfWork;
    const { mode, revisit, isProven, isComplete } = how;
    const snapshot = this.#isSnapshot;
    // A full sync brings most of the other versions by itself.
    const askInPages = sync.seen === null ? ASK_AT_ONCE_AT_MOST : 0;
    // `absence-versions` was lost and is filled again, while the events still exist.
    const isRefill = !snapshot && unitOfWork.progress.last?.lastCompleteFull == null;
    const outcome = await view.resolve({
      mode,
      changed: { ...unitOfWork.table.staged.takeVersions(), revisit },
      bodies: unitOfWork.table.staged.bodies,
      place: unitOfWork.table.staged.next,
      lookups: {
        lookUp: unitOfWork.table.lookUpCommitted,
        hashesOf: (ids) => unitOfWork.table.hashesOf(ids),
        fetch: (ids) => this.#fetch(sync, ids),
      },
      sequence: unitOfWork.progress.nextSequence,
      snapshot,
      republishes: sync.republication?.absences,
      forgottenBeforeMs: isRefill ? view.forgottenBeforeMs : null,
      awaitsStudents: unitOfWork.progress.isMappingNew && !isComplete,
      askAtMost: mode === 'final' ? ASK_AT_END_AT_MOST : askInPages,
      isGone: isProven ? (id) => !hasSeen(sync, 'rows', id) : null,
    });
    this.#note(sync, outcome);
  }

  async #fetch(sync: ActiveSync, ids: readonly string[]): Promise<FetchedVersions> {
    const { table } = this.#unitOfWork;
    const found = await this.#parts.fetch(ids, () => table.readVersion);
    if (found === null) return { versions: [], gone: [], isFailed: true };
    const options = { seenBefore: NONE_SEEN_BEFORE, keepsUnchanged: this.republishes(sync) };
    // The scan may still read these rows, with newer content.
    for (const page of found.pages) await table.decide(sync, { ...page, isAskedFor: true }, options);
    table.staged.takeVersions();
    const rows = found.pages.flatMap((page) => page.rows);
    const versions = rows.flatMap(({ decoded }) =>
      decoded.kind === 'row' ? [decoded.value as AbsenceVersionValue] : [],
    );
    return { versions, gone: found.gone, isFailed: false };
  }
}
