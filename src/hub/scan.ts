import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HubEvent, PagingMode } from '../core/hub-events.ts';
import { PageCuts } from '../core/pages/page-cuts.ts';
import type { CollectionName } from '../model/collections.ts';
import type { HubPage, ReadOptions, ScanEnd } from './hub.ts';
import { asksForSmallerPages, brokenPaging, HubError, noSmallerPage } from './hub-error.ts';
import { largeTurn, type LargeTurn } from './large-turn.ts';
import { readPage, type FetchedPage } from './page.ts';
import {
  afterPage,
  beginIn,
  decidePage,
  type FoundPaging,
  type PageFacts,
  type PagingFindings,
  type ScanState,
} from './paging.ts';
import { prefetchPages, type ByteBudget, type Prefetch } from './prefetch-known-pages.ts';
import { collectionPlace, pageUrl } from './request-url.ts';
import type { Requests } from './requests.ts';
import type { Semaphore } from '../semaphore.ts';

/** undici writes a request one turn of the event loop after the previous answer, and needs one more to check the connection. */
export const TURNS_UNTIL_SENT = 2;

export interface ScanContext {
  readonly baseUrl: URL;
  readonly requests: Requests;
  readonly findingsOf: (name: CollectionName) => PagingFindings;
  readonly paging: PagingMode | 'auto';
  /** Leaves the hub's totals out (`hub.totals: ignored`): they count rows that it does not return. */
  readonly ignoresTotals?: boolean | undefined;
  readonly onEvent: (event: HubEvent) => void;
  /** Limits of the pages that are requested before their turn. */
  readonly ahead: { readonly pagesAtMost: number; readonly budget: ByteBudget };
  /** One permit for all scans of the hub: only one of them has a large page at a time. */
  readonly largeTurn: Semaphore;
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
  readonly #findings: PagingFindings;
  /** Whether the scan itself decides how the hub pages. */
  readonly #auto: boolean;
  /** Null if no pages are remembered, and so is `#cuts`. */
  readonly #prefetch: Prefetch | null;
  #cuts: PageCuts | null;
  #state: ScanState;
  /** Upper bound of `limit` while rows are so large that even a small page was too large. */
  #atMost = Infinity;
  /** Limit of a page that is to end where a remembered page begins; null: the usual limit. */
  #cut: number | null = null;
  #rows = 0;
  #totalAtStart: number | null = null;
  #totalAtEnd: number | null = null;

  constructor(context: ScanContext, read: ReadOptions, signal: AbortSignal) {
    this.#context = context;
    this.#read = read;
    this.#signal = signal;
    this.large = largeTurn(context.largeTurn, signal, read.turn);
    const { name, keyset } = read.collection;
    this.#where = collectionPlace(context.baseUrl, read.collection);
    const { pages, modifiedAfterMs, readVersion } = read;
    const { ahead, requests } = context;
    const request = { target: name, where: this.#where, readVersion, signal };
    // The pages of an incremental scan are different each time, so none is remembered.
    const isKnown = pages !== undefined && modifiedAfterMs === undefined;
    this.#prefetch = isKnown ? prefetchPages({ requests, pages, request, ...ahead }) : null;
    this.#cuts = isKnown ? new PageCuts(pages) : null;
    this.#findings = context.findingsOf(name);
    this.#auto = keyset && context.paging === 'auto';
    this.#state = beginIn(this.#pagingToBegin(keyset), 0);
  }

  /** Returns the next page with new rows, and the end with the last one. */
  async next(): Promise<ScanStep> {
    for (;;) {
      const fetched = await this.#fetch();
      if (fetched === null) continue;
      // Rows after large ones may be small again.
      this.#atMost *= 2;
      const { facts } = fetched;
      const decision = decidePage(this.#state, facts);
      const { step, deliver } = decision;
      if (deliver) this.#noticeClamp(facts);
      this.#state = afterPage(this.#state, facts, decision);
      const page = deliver ? this.#delivered(fetched.page, facts.rowCount) : null;
      if (page === null) this.large.doneWith(fetched.page);
      if (step.kind === 'fails') this.#leaveMode(step.why);
      else if (this.#state.pages > 1 && page !== null && facts.rowCount > 0) this.#decide();
      const end = step.kind === 'end' ? this.#ended(step.reason) : null;
      if (page !== null || end !== null) return { page, end };
    }
  }

  /** Called when nobody will read further pages. */
  end(): void {
    this.#prefetch?.end();
    this.large.end();
  }

  #pagingToBegin(keyset: boolean): FoundPaging {
    const { paging } = this.#context;
    if (!keyset || paging !== 'auto')
      return { mode: keyset && paging !== 'auto' ? paging : 'offset', isDecided: true, why: null };
    return this.#findings.paging ?? { mode: 'keyset', isDecided: false, why: null };
  }

  /** Returns null when the hub refused the request and the scan continues with another one. */
  async #fetch(): Promise<FetchedPage | null> {
    const { baseUrl, requests, ignoresTotals } = this.#context;
    const read = this.#read;
    const { collection } = read;
    const where = this.#where;
    const { mode, cursor } = this.#state;
    // Only a page that is requested by a cursor begins at a known place.
    const prefetch = mode === 'keyset' ? this.#prefetch : null;
    const pages = prefetch === null ? undefined : read.pages;
    const isInTurn = prefetch === null || this.#cutPage(prefetch);
    let limit = this.#limit;
    const url = (): URL => {
      limit = this.#limit;
      const offset = mode === 'offset' ? this.#state.offset : undefined;
      return pageUrl(baseUrl, { read, mode, cursor, offset, limit, sort: this.#sorts });
    };
    try {
      const fetched = await requests.get({
        target: collection.name,
        where,
        url,
        signal: this.#signal,
        readVersion: isInTurn ? read.readVersion : () => prefetch.asOfPageBefore(read.readVersion()),
        large: read.refuseLarge === true ? undefined : this.large,
        prefetched: prefetch === null ? undefined : (address) => prefetch.take(address),
        recognise: pages === undefined ? undefined : (text) => pages.recognise(cursor, text),
        read: (answer) =>
          readPage(answer, {
            collection,
            where,
            limit,
            ignoresTotals,
            cursor: pages === undefined ? undefined : cursor,
          }),
        onFailure: (error) => this.#asksOtherwise(error, limit),
      });
      prefetch?.noteUsed(fetched.page.readVersion);
      return fetched;
    } catch (error) {
      if (!(error instanceof HubError) || !this.#triesOtherwise(error)) throw error;
      return null;
    }
  }

  get #sorts(): boolean {
    // Nested collections take limit and offset only (spec 4.1).
    return this.#read.collection.keyset && !this.#findings.sortRefused;
  }

  get #usualLimit(): number {
    return Math.min(this.#findings.limit, this.#atMost);
  }

  get #limit(): number {
    return Math.min(this.#usualLimit, this.#cut ?? Infinity);
  }

  get #isCutShort(): boolean {
    return this.#cut !== null && this.#cut < this.#usualLimit;
  }

  /**
   * Chooses the limit of the next page, and requests known pages ahead. Returns false if the scan uses the next page
   * before pages that were requested earlier.
   */
  #cutPage(prefetch: Prefetch): boolean {
    const { cursor, before } = this.#state;
    const cut = this.#cuts?.at(cursor, { idsBefore: before?.ids ?? [], usual: this.#usualLimit });
    this.#cut = cut?.rows ?? null;
    prefetch.pagesFrom(cut?.known ?? null);
    return cut?.known == null || cut.known.cursor === cursor;
  }

  /** A page took too long or was too large. Returns true if a smaller one is to be asked for at once. */
  #asksOtherwise(error: HubError, limit: number): boolean {
    const because = asksForSmallerPages(error);
    if (because === 'too-large') {
      if (limit === 1) throw noSmallerPage(error);
      // The first time, a single row shows whether the hub honours the limit.
      this.#atMost = this.#atMost === Infinity ? 1 : Math.floor(limit / 2);
    }
    if (because !== null && limit >= this.#findings.limit) this.#findings.halve(limit);
    return because === 'too-large';
  }

  /**
   * A 400 or 422 may mean that the hub does not accept a smaller limit, or a parameter. Returns true if the scan is to
   * ask at once with the usual limit, without the parameter for the order, or by offset.
   */
  #triesOtherwise({ status }: HubError): boolean {
    if (status !== 400 && status !== 422) return false;
    const { mode, pages } = this.#state;
    if (this.#isCutShort) {
      this.#cuts = null;
      return true;
    }
    if (this.#sorts && mode === 'offset') {
      this.#findings.sortRefused = true;
      this.#begin(this.#state);
      return true;
    }
    if (!this.#auto || (mode === 'keyset' && pages === 0)) return false;
    const mayTryOffset = mode === 'keyset' && !this.#state.isDecided;
    if (mayTryOffset) this.#leaveMode(`the hub answered HTTP ${status}`);
    // The next scan finds out again how the hub pages.
    else this.#findings.paging = null;
    return mayTryOffset;
  }

  #begin(paging: FoundPaging): void {
    this.#state = beginIn(paging, this.#rows);
    this.#cut = null;
  }

  /** The hub does not page in this mode: the first contact tries to page by offset, and any later scan fails. */
  #leaveMode(why: string): void {
    const { mode, isDecided } = this.#state;
    if (this.#auto && !isDecided && mode === 'keyset') {
      this.#findings.paging = { mode: 'offset', isDecided: false, why };
      this.#begin(this.#findings.paging);
      return;
    }
    this.#findings.paging = null;
    const isFixed = this.#read.collection.keyset && !this.#auto;
    const cure = this.#auto && isDecided ? 'again' : 'none';
    throw brokenPaging(this.#where, why, { mode, cure: isFixed ? 'mode' : cure });
  }

  /** A second page has shown that the hub pages in this mode. */
  #decide(): void {
    const { mode, why } = this.#state;
    if (this.#findings.paging?.isDecided === true) return;
    this.#state = { ...this.#state, isDecided: true };
    this.#findings.paging = { mode, isDecided: true, why };
    const { name: collection } = this.#read.collection;
    this.#context.onEvent({ type: 'paging-decided', collection, paging: mode, why });
  }

  /** Counts the rows of a page, and returns the page. */
  #delivered(page: HubPage, rowCount: number): HubPage {
    if (this.#rows === 0) this.#totalAtStart ??= page.total;
    this.#totalAtEnd = page.total ?? this.#totalAtEnd;
    this.#rows += rowCount;
    return page;
  }

  #ended(reason: ScanEnd['reason']): ScanEnd {
    const [totalAtStart, totalAtEnd] = [this.#totalAtStart, this.#totalAtEnd];
    return { reason, paging: this.#state.mode, rows: this.#state.rows, totalAtStart, totalAtEnd };
  }

  /** If two pages in a row have the same number of rows, and both have fewer than the limit, the hub clamps the limit. */
  #noticeClamp({ rowCount, limit }: PageFacts): void {
    const { before } = this.#state;
    const isShort = before !== null && before.rowCount < before.limit && rowCount < limit;
    if (isShort && rowCount > 0 && rowCount === before.rowCount) this.#findings.limit = rowCount;
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
