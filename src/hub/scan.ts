import { setImmediate as nextTurn } from 'node:timers/promises';
import { PageCuts } from '../core/pages/page-cuts.ts';
import type { HubEvent } from '../core/hub-events.ts';
import type { HubPage, ReadOptions, ScanEnd } from './hub.ts';
import type { PagingMode } from '../core/hub-events.ts';
import { asksForSmallerPages, brokenPaging, endlessPaging, HubError } from './hub-error.ts';
import { LargeTurn } from './large-turn.ts';
import type { WayOut } from '../core/hub-events.ts';
import {
  afterPage,
  beginIn,
  decidePage,
  mayRepeat,
  stepDown,
  type NextStep,
  type ScanState,
  type PageFacts,
} from './paging-decision.ts';
import { repeatedIn } from './page-body.ts';
import type { PagingMemory } from './paging-memory.ts';
import { prefetchFor, type ByteBudget, type Prefetch } from './prefetch.ts';
import { readPage, type FetchedPage } from './read-page.ts';
import type { Requests } from './requests.ts';
import { pageUrl, type Position } from './scan-request.ts';

/** More pages than any collection has; ends a scan of an endless listing. */
const MAX_PAGES_PER_SCAN = 1_000_000;

/** undici writes a request one turn of the event loop after the previous answer, and needs one more to check the connection. */
const TURNS_UNTIL_SENT = 2;

export interface ScanContext {
  readonly baseUrl: URL;
  readonly requests: Requests;
  readonly memory: PagingMemory;
  readonly paging: PagingMode | 'auto';
  /** The hub's totals count rows that it does not return. */
  readonly ignoresTotals?: boolean | undefined;
  readonly onEvent: (event: HubEvent) => void;
  /** Limits of the pages that are requested before their turn; left out where none are. */
  readonly ahead?: { readonly pagesAtMost: number; readonly budget: ByteBudget };
}

interface ScanStep {
  readonly page: HubPage | null;
  readonly end: ScanEnd | null;
}

/** One scan of a collection: its state, and the next request. */
class Scanner {
  readonly #context: ScanContext;
  readonly #read: ReadOptions;
  readonly #signal: AbortSignal;
  readonly large: LargeTurn;
  readonly #where: string;
  /** Null without remembered pages, like `#cuts`. */
  readonly #prefetch: Prefetch | null;
  #cuts: PageCuts | null;
  #state: ScanState;
  #position: Position = { kind: 'first' };
  #offset = 0;
  /** Upper bound for `limit` at this place, where even a small page was too large. */
  #atMost = Infinity;
  /** Rows that lead to a remembered page; null: as many as usual. */
  #cut: number | null = null;
  #pages = 0;
  #rows = 0;
  #totalAtStart: number | null = null;
  #totalAtEnd: number | null = null;
  #previous: PageFacts | null = null;
  /** Marks of the pages in this mode. */
  readonly #marks = new Set<string>();

  constructor(context: ScanContext, read: ReadOptions, signal: AbortSignal) {
    this.#context = context;
    this.#read = read;
    this.#signal = signal;
    this.large = new LargeTurn(signal, read.turn);
    const { name, path, keyset } = read.collection;
    this.#where = `${context.baseUrl.origin}${context.baseUrl.pathname.replace(/\/+$/, '')}${path}`;
    this.#prefetch = prefetchFor(context, { read, signal, where: this.#where });
    this.#cuts = this.#prefetch === null || read.pages === undefined ? null : new PageCuts(read.pages);
    const auto = keyset && context.paging === 'auto';
    const mode = context.paging === 'auto' ? (context.memory.mode(name) ?? 'keyset') : context.paging;
    this.#state = beginIn(keyset ? mode : 'offset', {
      auto,
      filtered: read.modifiedAfterMs !== undefined,
      rowsBefore: 0,
    });
    if (this.#state.mode === 'offset') this.#position = { kind: 'offset', offset: 0 };
  }

  /** Returns the next page with new rows, and the end with the last one. */
  async next(): Promise<ScanStep> {
    for (;;) {
      const fetched = await this.#fetch();
      if (fetched === null) continue;
      // Rows after large ones may be small again.
      this.#atMost *= 2;
      const { facts, links } = fetched;
      const decision = decidePage(this.#state, facts, this.#marks);
      this.#notice(fetched);
      this.#state = afterPage(this.#state, facts, decision);
      if (facts.mark !== null) this.#marks.add(facts.mark);
      // A duplicate must not move the offset past an undelivered row: overlap is harmless, a gap is not.
      this.#offset += facts.rowCount - repeatedIn(facts.ids);
      if (links.leadsOut !== null) this.#reportLinkOut(links.leadsOut);
      const page = decision.deliver ? this.#delivered(fetched.page, facts.rowCount) : null;
      if (page === null) this.large.doneWith(fetched.page);
      const end = this.#apply(decision.step);
      if (page !== null || end !== null) return { page, end };
    }
  }

  /** Nobody will read further pages. */
  end(): void {
    this.#prefetch?.end();
    this.large.end();
  }

  get #sorts(): boolean {
    const { keyset, name } = this.#read.collection;
    // Nested collections take limit and offset only (spec 4.1).
    return keyset && !this.#context.memory.sortRefused(name);
  }

  /** Returns null when the hub refused the request and the scan continues with another mode. */
  async #fetch(): Promise<FetchedPage | null> {
    const { baseUrl, requests, memory, onEvent } = this.#context;
    const read = this.#read;
    const { name } = read.collection;
    const where = this.#where;
    const { cursor, previousIds } = this.#state;
    // Without a cursor the hub chooses what a page begins with.
    const prefetch = this.#state.mode === 'keyset' ? this.#prefetch : null;
    const pages = prefetch === null ? undefined : read.pages;
    const isInTurn = prefetch === null || this.#cutPage(prefetch);
    this.#pages += 1;
    if (this.#pages > MAX_PAGES_PER_SCAN) throw endlessPaging(where, MAX_PAGES_PER_SCAN);
    let limit = this.#limit;
    const url = (): URL => {
      limit = this.#limit;
      const { mode } = this.#state;
      return pageUrl({ baseUrl, read, mode, position: this.#position, limit, sort: this.#sorts });
    };
    try {
      const fetched = await requests.get({
        target: name,
        where,
        url,
        signal: this.#signal,
        readVersion: isInTurn ? read.readVersion : () => prefetch.asOfPageBefore(read.readVersion()),
        large: read.refuseLarge === true ? undefined : this.large,
        prefetched: prefetch === null ? undefined : (address) => prefetch.take(address),
        recognise:
          pages === undefined
            ? undefined
            : (text) => {
                const page = pages.recognise(cursor, text);
                return page === null || mayRepeat(page.keys, previousIds) ? null : page;
              },
        read: (answer) =>
          readPage(answer, { baseUrl, read, limit, where, ...(pages === undefined ? {} : { cursor }) }),
        onFailure: (error) => {
          const because = asksForSmallerPages(error);
          // What a short page takes says nothing about usual ones.
          if (because !== null && this.#isCutShort) {
            this.#cut = null;
            return because === 'too-large';
          }
          if (because === 'too-large') {
            memory.requireSmallerPage(name, error, { limit, isFirst: this.#rows === 0 });
            // The first time, a single row shows whether the hub honours the limit.
            this.#atMost = this.#atMost === Infinity ? 1 : Math.floor(limit / 2);
          }
          const halved = because === null || limit < memory.limit(name) ? null : memory.halve(name, limit);
          if (halved !== null) onEvent({ type: 'page-size-reduced', collection: name, ...halved });
          return because === 'too-large';
        },
      });
      prefetch?.noteUsed(fetched.page.readVersion);
      return fetched;
    } catch (error) {
      if (!this.#triesOtherwise(error)) throw error;
      return null;
    }
  }

  get #pagingCure(): 'none' | 'offset' | 'mode' {
    if (!this.#read.collection.keyset) return 'offset';
    return this.#state.auto ? 'none' : 'mode';
  }

  get #usualLimit(): number {
    return Math.min(this.#context.memory.limit(this.#read.collection.name), this.#atMost);
  }

  get #limit(): number {
    return Math.min(this.#usualLimit, this.#cut ?? Infinity);
  }

  get #isCutShort(): boolean {
    return this.#cut !== null && this.#cut < this.#usualLimit;
  }

  /** Returns false if the page is to be used before others that were requested earlier. */
  #cutPage(prefetch: Prefetch): boolean {
    const { cursor } = this.#state;
    const idsBefore = this.#previous?.ids ?? [];
    const cut = this.#cuts?.at(cursor, { idsBefore, usual: this.#usualLimit });
    this.#cut = cut?.rows ?? null;
    prefetch.pagesFrom(cut?.known ?? null);
    return cut?.known == null || cut.known.cursor === cursor;
  }

  /** A 400 may mean that the hub does not take a short limit, or does not know a parameter: the scan tries without. */
  #triesOtherwise(error: unknown): boolean {
    if (!(error instanceof HubError) || (error.status !== 400 && error.status !== 422)) return false;
    const { mode, auto } = this.#state;
    if (this.#isCutShort) {
      this.#cuts = null;
      return true;
    }
    // Filter mode depends on the order: it drops `sort` only if hub.paging prescribes this mode.
    if (this.#sorts && (mode === 'offset' || (mode === 'sourced-id-filter' && !auto))) {
      this.#context.memory.rememberSortRefused(this.#read.collection.name);
      this.#begin(mode);
      return true;
    }
    const askedByCursor = mode === 'sourced-id-filter' || this.#position.kind !== 'first';
    if (!auto || mode === 'offset' || !askedByCursor) return false;
    this.#apply(stepDown(this.#state, `the hub answered HTTP ${error.status}`));
    return true;
  }

  #begin(mode: PagingMode): void {
    const { auto, filtered } = this.#state;
    this.#state = beginIn(mode, { auto, filtered, rowsBefore: this.#rows });
    this.#marks.clear();
    this.#offset = 0;
    this.#previous = null;
    this.#cut = null;
    this.#position = mode === 'offset' ? { kind: 'offset', offset: 0 } : { kind: 'first' };
  }

  /** Moves to the next page; returns the end when there is none. */
  #apply(step: NextStep): ScanEnd | null {
    switch (step.kind) {
      case 'end':
        return this.#ended(step.reason);
      case 'broken':
        throw brokenPaging(this.#where, step.reason, this.#pagingCure);
      case 'step-down': {
        const { mode: from } = this.#state;
        const { to, reason } = step;
        const collection = this.#read.collection.name;
        this.#context.onEvent({ type: 'paging-stepped-down', collection, from, to, reason });
        this.#begin(to);
        return null;
      }
      case 'follow':
        this.#position = step;
        return null;
      case 'cursor':
        this.#position = step;
        this.#state = { ...this.#state, cursor: step.cursor };
        return null;
      case 'offset':
        this.#position = { kind: 'offset', offset: this.#offset };
        return null;
    }
  }

  /** Counts a page and returns it for the caller. */
  #delivered(page: HubPage, rowCount: number): HubPage {
    // With a clause on sourcedId the total counts the rows after the cursor, so it does not compare with other totals.
    const { mode, pagesInMode } = this.#state;
    const isOfRest = mode === 'sourced-id-filter' && pagesInMode > 1;
    const total = isOfRest || this.#context.ignoresTotals === true ? null : page.total;
    if (this.#rows === 0 && this.#totalAtStart === null) this.#totalAtStart = total;
    if (total !== null) this.#totalAtEnd = total;
    this.#rows += rowCount;
    return total === page.total ? page : { ...page, total };
  }

  #ended(reason: ScanEnd['reason']): ScanEnd {
    const { memory, onEvent } = this.#context;
    const { name } = this.#read.collection;
    const { auto, filtered, mode, rowsInMode } = this.#state;
    if (auto && mode !== memory.mode(name) && reason !== 'missing-list') memory.rememberMode(name, mode);
    const [totalAtStart, total] = [this.#totalAtStart, this.#totalAtEnd];
    const isDoubtful = total !== null && (filtered ? total < rowsInMode : total !== rowsInMode);
    if (isDoubtful && memory.firstTime(name, 'total')) {
      onEvent({ type: 'total-unreliable', collection: name, total, rows: rowsInMode });
    }
    return { reason, paging: mode, rows: this.#rows, totalAtStart, totalAtEnd: total };
  }

  #reportLinkOut(leadsTo: WayOut): void {
    const { memory, onEvent } = this.#context;
    const collection = this.#read.collection.name;
    if (memory.firstTime(collection, `link ${leadsTo}`))
      onEvent({ type: 'foreign-link-refused', collection, leadsTo });
  }

  /** A page below the limit that was not the last shows that the hub clamps the limit. */
  #notice({ facts }: FetchedPage): void {
    const { memory, onEvent } = this.#context;
    const collection = this.#read.collection.name;
    const before = this.#previous;
    this.#previous = facts;
    if (before === null || facts.rowCount === 0 || before.rowCount >= before.limit) return;
    if (facts.mark !== null && facts.mark === before.mark) return;
    if (facts.rowCount === before.rowCount && facts.rowCount < facts.limit) {
      memory.rememberLimit(collection, facts.rowCount);
    }
    if (!memory.firstTime(collection, 'clamp')) return;
    onEvent({ type: 'limit-clamped', collection, asked: before.limit, given: before.rowCount });
  }
}

/** Scans a collection; see {@link Hub.readPages}. It fetches the next page while the caller works on one. */
export async function* scanPages(context: ScanContext, read: ReadOptions): AsyncGenerator<HubPage, ScanEnd> {
  const abandoned = new AbortController();
  const scanner = new Scanner(context, read, AbortSignal.any([read.signal, abandoned.signal]));
  const fetchNext = async (): Promise<ScanStep> => scanner.next();
  let pending = fetchNext();
  try {
    for (;;) {
      const { page, end } = await pending;
      if (end === null) {
        pending = fetchNext();
        // The caller gets a failure when it asks for that page, and not at all if it abandons the scan.
        pending.catch(() => undefined);
        // The request must leave before the caller works on this page, which may block the event loop.
        for (let turn = 0; turn < TURNS_UNTIL_SENT; turn += 1) await nextTurn();
      }
      if (page !== null) {
        yield page;
        scanner.large.doneWith(page);
      }
      if (end !== null) return end;
    }
  } finally {
    abandoned.abort();
    scanner.end();
  }
}
