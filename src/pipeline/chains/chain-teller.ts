import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { KeyedReading } from '../../core/page-decision.ts';
import type { Progress } from '../../model/progress.ts';
import { hasMet, type ActivePass } from '../active-pass.ts';
import type { PendingTransaction } from '../pending-transaction.ts';
import type { ChainBook } from './chain-book.ts';
import type { LookUp } from './chain-lookup.ts';
import type { ChainOutcome, ChainTask, FetchedVersions } from './chain-task.ts';

/** Versions that a chain refers to and that the page did not bring: more of them wait for the pass's end. */
const ASK_AT_ONCE_AT_MOST = 50;
const ASK_AT_END_AT_MOST = 2_000;

type Page = { readonly readings: readonly KeyedReading[]; readonly stamp: number };

export interface ChainParts {
  readonly book: ChainBook;
  /** Asks the hub for single rows; null when it cannot be had at present. */
  readonly fetch: (
    ids: readonly string[],
    stamp: () => number,
  ) => Promise<{ readonly pages: readonly Page[]; readonly gone: readonly string[] } | null>;
  /** Called after the commit. */
  readonly told: (outcome: ChainOutcome) => void;
}

/** What is needed of the writer of `absence-versions`, whose transactions also carry what follows from them. */
export interface ChainLedger {
  pending(): PendingTransaction;
  isFull(): boolean;
  commit(pass: ActivePass): Promise<void>;
  /** The index as of the last commit. */
  readonly lookUp: LookUp;
  /** As of what is about to be committed. */
  hashesOf(versionIds: readonly string[]): Promise<ReadonlyMap<string, Buffer | null>>;
  /** Rows that were asked for one by one are decided like those of a page. */
  decide(pass: ActivePass, page: Page): Promise<unknown>;
  readonly stamp: () => number;
  /** Of the next transaction. */
  sequence(): number;
  progress(): Progress | null;
  /** Whether all absences were told at least once: what is told from then on is no snapshot. */
  isFirstLoadOver(): boolean;
  isFullPassUnderWay(): boolean;
  /** Whether rows were published under another mapping. */
  isMappingNew(): boolean;
}

/** How a pass ends: not yet · without having seen everything the hub has, for certain · having seen it. */
export interface PassEnd {
  readonly isWhole: boolean;
  readonly isProven: boolean;
}

const IN_PAGES = { mode: 'page', isWhole: false, isProven: false } as const;

/**
 * Adds to a transaction what follows from the changed versions in it; at a pass's end also what was left open, which may
 * take transactions of its own.
 */
export class ChainTeller {
  readonly #parts: ChainParts;
  readonly #ledger: ChainLedger;

  constructor(parts: ChainParts, ledger: ChainLedger) {
    this.#parts = parts;
    this.#ledger = ledger;
  }

  /**
   * Whether a full pass is to tell of versions that are as they were: they are there, but what follows from them was lost,
   * never told, or is wanted once more. It brings their records, which else would have to be read back out of the log.
   */
  tellsAgain(pass: ActivePass): boolean {
    return pass.seen !== null && (this.#isSnapshot || pass.again?.absences !== undefined);
  }

  /** To be called right before each commit. `end`: null in the middle of the pass. */
  async tell(pass: ActivePass, end: PassEnd | null): Promise<void> {
    const { book } = this.#parts;
    const ledger = this.#ledger;
    if (end === null || this.#leavesOpen(pass)) {
      if (!ledger.pending().isEmpty) await this.#settle(pass, { ...IN_PAGES, revisit: [] });
      return;
    }
    const { isProven, isWhole } = end;
    let isSettled = false;
    for await (const revisit of book.toRevisit()) {
      // What is settled next must see what was settled before.
      if (isSettled) await ledger.commit(pass);
      await this.#settle(pass, { mode: 'final', revisit, isProven, isWhole });
      isSettled = true;
    }
    if (!isSettled && !ledger.pending().isEmpty) {
      await this.#settle(pass, { mode: 'final', revisit: [], isProven, isWhole });
    }
    // An index that was lost meanwhile had nothing open, either.
    await ledger.lookUp('open', []);
    if (!end.isWhole) return;
    const hidesOrphans = this.#isSnapshot || pass.again?.hidesOrphans === true;
    if (hidesOrphans && isProven) await this.#hideOrphans(pass);
    await this.#forget(pass);
  }

  get #isSnapshot(): boolean {
    return !this.#ledger.isFirstLoadOver();
  }

  /** A delta tells what it can; what a full pass has left open, or a first telling, is not its to end. */
  #leavesOpen(pass: ActivePass): boolean {
    return pass.seen === null && (this.#isSnapshot || this.#ledger.isFullPassUnderWay());
  }

  async #hideOrphans(pass: ActivePass): Promise<void> {
    const ledger = this.#ledger;
    const told = ledger.pending().keysOf('absences');
    for await (const outcome of this.#parts.book.hideOrphans(() => ledger.pending().next, told)) {
      await this.#add(pass, outcome);
    }
  }

  /** What is too old; but nothing that is about to be committed anyway. */
  async #forget(pass: ActivePass): Promise<void> {
    const { book } = this.#parts;
    const ledger = this.#ledger;
    const ended = ledger.pending().keysOf('ended');
    for await (const outcome of book.forgetEnded(() => ledger.pending().next, ended)) {
      await this.#add(pass, outcome);
    }
    const absent = ledger.pending().keysOf('absent');
    for await (const changes of book.outlivedAbsents(absent)) {
      ledger.pending().changes.push(...changes);
      if (ledger.isFull()) await ledger.commit(pass);
    }
  }

  async #add(pass: ActivePass, outcome: ChainOutcome): Promise<void> {
    this.#note(pass, outcome);
    if (this.#ledger.isFull()) await this.#ledger.commit(pass);
  }

  #note({ stats }: ActivePass, outcome: ChainOutcome): void {
    this.#ledger.pending().add(outcome);
    for (const [kind, count] of Object.entries(outcome.tally)) {
      stats.chains[kind as keyof ChainOutcome['tally']] += count;
    }
  }

  async #settle(pass: ActivePass, how: Pick<ChainTask, 'mode' | 'revisit'> & PassEnd): Promise<void> {
    const { book } = this.#parts;
    const ledger = this.#ledger;
    const snapshot = this.#isSnapshot;
    // A full pass mostly brings the rest by itself.
    const askInPages = pass.seen === null ? ASK_AT_ONCE_AT_MOST : 0;
    // A topic of versions that was lost is filled again; what was told of them was not.
    const isRefill = !snapshot && ledger.progress()?.lastCompleteFull == null;
    const outcome = await book.settle({
      ...how,
      ...ledger.pending().takeVersions(),
      ...ledger.pending().next,
      sequence: ledger.sequence(),
      snapshot,
      showsAgain: pass.again?.absences,
      forgottenBeforeMs: isRefill ? book.forgottenBeforeMs : null,
      awaitsStudents: ledger.isMappingNew() && !how.isWhole,
      askAtMost: how.mode === 'final' ? ASK_AT_END_AT_MOST : askInPages,
      isGone: how.isProven ? (id) => !hasMet(pass, 'rows', id) : null,
      lookUp: ledger.lookUp,
      hashesOf: (ids) => ledger.hashesOf(ids),
      fetch: (ids) => this.#fetch(pass, ids),
    });
    this.#note(pass, outcome);
  }

  async #fetch(pass: ActivePass, ids: readonly string[]): Promise<FetchedVersions> {
    const ledger = this.#ledger;
    const found = await this.#parts.fetch(ids, ledger.stamp);
    if (found === null) return { versions: [], gone: [], isFailed: true };
    for (const page of found.pages) await ledger.decide(pass, page);
    ledger.pending().takeVersions();
    const readings = found.pages.flatMap((page) => page.readings.map(({ reading }) => reading));
    const versions = readings.flatMap((reading) =>
      reading.kind === 'row' ? [reading.value as AbsenceVersionValue] : [],
    );
    return { versions, gone: found.gone, isFailed: false };
  }
}
