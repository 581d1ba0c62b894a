import type { PagingMode } from '../core/hub-events.ts';
import { Fingerprints } from '../core/seen-keys.ts';
import type { CollectionName } from '../model/collections.ts';
import type { ScanEnd } from './hub.ts';

/*
 * How a hub pages (its mode) is decided at the first contact. The mode is keyset, unless the hub refuses the cursor, or
 * the second page by keyset is the first page again. Then the mode is offset. The mode that works is remembered. If a hub
 * pages in another way later, that scan fails.
 */

/** The facts of a page that decide the next request. */
export interface PageFacts {
  /** False when the body had no list. */
  readonly hasList: boolean;
  readonly rowCount: number;
  /** The requested limit. */
  readonly limit: number;
  /** Readable `sourcedId`s, in the page's order; of a page that was recognised, only the last one. */
  readonly ids: readonly string[];
  /**
   * What identifies the rows: their ids, or the text of a row without an id. Of a page that was recognised, the
   * fingerprints of the ids.
   */
  readonly marks: ReadonlySet<string> | Fingerprints;
  readonly total: number | null;
  /** Whether the page has paging links (link.ts). */
  readonly paging: boolean;
  readonly nextOffered: boolean;
  /** The query of the link to the next page. */
  readonly nextQuery?: URLSearchParams | undefined;
}

/** How a hub pages, as far as scans have found out. */
export interface FoundPaging {
  readonly mode: PagingMode;
  /** False until a second page has come: the first contact may try another mode. */
  readonly isDecided: boolean;
  /** Why `auto` does not page by keyset; null if it does, or if the configuration names the mode. */
  readonly why: string | null;
}

/** The state of a scan in its mode of paging. */
export interface ScanState extends FoundPaging {
  readonly pages: number;
  readonly rows: number;
  /** Rows delivered in the mode tried before. */
  readonly rowsBefore: number;
  readonly firstTotal: number | null;
  /** The last page with rows. */
  readonly before: PageFacts | null;
  /** Cursor of the page's request; null for a first page. */
  readonly cursor: string | null;
  readonly offset: number;
  /** Cursors that the links of pages without rows led to. */
  readonly linkedCursors: readonly (string | null)[];
  /** Pages without rows right before the page. */
  readonly emptyPages: number;
  /** The limit of a page that came back full. */
  readonly honouredLimit: number | null;
}

export type NextStep =
  | { readonly kind: 'end'; readonly reason: ScanEnd['reason'] }
  | { readonly kind: 'go-on' }
  /** The hub does not page in this mode. */
  | { readonly kind: 'fails'; readonly why: string };

export interface PageDecision {
  /** False for a page that repeats the one before. */
  readonly deliver: boolean;
  readonly step: NextStep;
}

export function beginIn(paging: FoundPaging, rowsBefore: number): ScanState {
  const nothingYet = { pages: 0, rows: 0, firstTotal: null, before: null, honouredLimit: null };
  return { ...paging, rowsBefore, ...nothingYet, cursor: null, offset: 0, linkedCursors: [], emptyPages: 0 };
}

/** More pages than any collection has. */
const MOST_PAGES = 1_000_000;

/**
 * Decides what follows a page (spec 4.3). Pure. It never orders ids to choose a page, because the hub's collation is
 * unknown. A link says only whether there is more. Only after a page without rows does it also say where to go on.
 */
export function decidePage(state: ScanState, page: PageFacts): PageDecision {
  const { mode } = state;
  if (state.pages >= MOST_PAGES) return { deliver: true, step: fails('the list does not end') };
  if (!page.hasList) return { deliver: true, step: { kind: 'end', reason: 'missing-list' } };
  if (page.rowCount === 0) return { deliver: true, step: afterEmptyPage(state, page) };
  if (repeatsItself(state, page)) {
    const step = mode === 'offset' ? repeatedByOffset(state, page) : fails('a page repeats itself');
    return { deliver: false, step };
  }
  const reason = endReasonOf(state, page);
  if (reason !== null) return { deliver: true, step: { kind: 'end', reason } };
  const isLost = mode === 'keyset' && page.ids.length === 0;
  return { deliver: true, step: isLost ? fails('a page has no row with an id') : { kind: 'go-on' } };
}

/** The state for the request after a page. */
export function afterPage(state: ScanState, page: PageFacts, { deliver }: PageDecision): ScanState {
  const isEmpty = page.rowCount === 0;
  const place = placeAfter(state, page);
  return {
    ...state,
    pages: state.pages + 1,
    rows: state.rows + (deliver ? page.rowCount : 0),
    firstTotal: state.pages === 0 ? page.total : state.firstTotal,
    before: isEmpty ? state.before : page,
    ...place,
    linkedCursors: isEmpty ? [...state.linkedCursors, place.cursor] : state.linkedCursors,
    emptyPages: isEmpty ? state.emptyPages + 1 : 0,
    honouredLimit: page.rowCount === page.limit ? page.limit : state.honouredLimit,
  };
}

/** Where the page after this one begins: after its last row, or, if it has none, where its link says. */
function placeAfter(state: ScanState, page: PageFacts): Pick<ScanState, 'cursor' | 'offset'> {
  const { rowCount, ids, nextQuery } = page;
  if (rowCount === 0) {
    const cursor = nextQuery?.get('afterSourcedId') ?? state.cursor;
    return { cursor, offset: Number(nextQuery?.get('offset') ?? state.offset) };
  }
  // A duplicate must not move the offset past an undelivered row: overlap is harmless, a gap is not.
  const offset = state.offset + rowCount - (ids.length - new Set(ids).size);
  return { cursor: ids.at(-1) ?? null, offset };
}

function fails(why: string): NextStep {
  return { kind: 'fails', why };
}

function repeatsItself({ mode, before, cursor }: ScanState, page: PageFacts): boolean {
  const { marks } = page;
  // A recognised page is the one that followed the same cursor in an earlier scan.
  if (before === null || marks instanceof Fingerprints) return false;
  const known = [...marks].filter((mark) => before.marks.has(mark)).length;
  // Pages overlap when rows move. By cursor, they overlap by a row or two at most. By offset, all remaining rows of a
  // list may have come already.
  if (mode === 'offset') return known === marks.size && page.rowCount >= before.rowCount;
  return page.ids.at(-1) === cursor || known * 2 >= marks.size;
}

/** The hub ignores the offset, too. Either these are all its rows, or nothing proves that they are. */
function repeatedByOffset(state: ScanState, page: PageFacts): NextStep {
  const { rowCount, limit, total, nextOffered } = page;
  // A page of exactly `limit` rows may be cut off, even if the total equals it.
  const isWhole = rowCount === total && total === state.rows && rowCount !== limit && !nextOffered;
  if (isWhole) return { kind: 'end', reason: 'total-reached' };
  const moreExpected = total !== null && total > rowCount;
  if (rowCount >= limit || nextOffered || moreExpected)
    return fails('the hub ignores limit and offset, and has more rows than it returned');
  return { kind: 'end', reason: 'repeated-page' };
}

/**
 * Whether a page without `next` calls for one more request: a hub that does not know the cursor may send `first` alone
 * although it has more rows. A correct hub answers that request with an empty page.
 */
function expectsMore(state: ScanState, page: PageFacts): boolean {
  if (page.rowCount >= page.limit) return !isTotalReached(state, page);
  return page.total !== null && page.total > state.rows + page.rowCount;
}

/**
 * Whether the hub's total shows that this page is the last. If the total equals the number of rows on the first page,
 * it may count only that page. Then it proves nothing, and the scan makes one more request. A total that changes
 * proves nothing either.
 */
function isTotalReached({ pages, rows, firstTotal }: ScanState, { total, rowCount }: PageFacts): boolean {
  return pages > 0 && total !== 0 && total === firstTotal && rows + rowCount === total;
}

function endReasonOf(state: ScanState, page: PageFacts): ScanEnd['reason'] | null {
  if (page.nextOffered) return null;
  if (page.paging) return expectsMore(state, page) ? null : 'no-next-link';
  if (page.rowCount >= page.limit) return null;
  if (isTotalReached(state, page)) return 'total-reached';
  return state.honouredLimit === page.limit ? 'short-page' : null;
}

/** At most this many pages without rows may follow each other, even if each has a link to the next one. */
const MOST_EMPTY_PAGES = 100;

/**
 * If a hub first divides its rows into pages and then hides some of them, a page may have no rows, but a link to the
 * next one.
 */
function afterEmptyPage(state: ScanState, page: PageFacts): NextStep {
  if (page.nextOffered && !isTotalReached(state, page) && !linksToItself(state, page)) {
    const { mode, cursor, offset, linkedCursors, emptyPages } = state;
    const next = placeAfter(state, page);
    // A link that was followed before leads back into the list.
    const isNew = next.cursor !== cursor && !linkedCursors.includes(next.cursor);
    const isFurther = { keyset: isNew, offset: next.offset > offset };
    return isFurther[mode] && emptyPages < MOST_EMPTY_PAGES
      ? { kind: 'go-on' }
      : fails('a page has no rows, although its Link offers a next one');
  }
  if (state.pages > 0) return { kind: 'end', reason: 'empty-page' };
  return state.rowsBefore > 0
    ? fails('a page is empty where paging by keyset returned rows')
    : { kind: 'end', reason: 'no-rows' };
}

/**
 * Whether the link of a page without rows leads to the page itself, and the page is the first or comes directly after
 * a page with rows: some hubs offer a next page at the end, too.
 */
function linksToItself({ mode, cursor, offset, emptyPages }: ScanState, { nextQuery }: PageFacts): boolean {
  if (emptyPages > 0) return false;
  return mode === 'offset'
    ? nextQuery?.get('offset') === String(offset)
    : nextQuery?.get('afterSourcedId') === (cursor ?? '');
}

/** After a day, findings are forgotten, because hubs are upgraded: a scan then tries better modes and larger pages again. */
export const FORGET_AFTER_MS = 24 * 3_600_000;
/** Smaller pages than this do not help a slow hub. */
const MIN_PAGE_SIZE = 50;

/** What scans found out about the paging of one collection. */
export class PagingFindings {
  paging: FoundPaging | null = null;
  /** The hub refused `sort` and `orderBy`. */
  sortRefused = false;
  /** Rows to ask for; fewer than configured after time-outs, or where the hub clamps the limit. */
  limit: number;

  constructor(pageSize: number) {
    this.limit = pageSize;
  }

  /** Halves the page size after a time-out (spec 8), but not below 50. */
  halve(triedLimit: number): void {
    const half = Math.max(MIN_PAGE_SIZE, Math.floor(triedLimit / 2));
    // It may be less already: as configured, or since a concurrent request of the same collection has halved it.
    this.limit = Math.min(this.limit, half);
  }
}

/** Remembers the findings of each collection. `now`: ms since the epoch. */
export function pagingMemory({ now, pageSize }: { now: () => number; pageSize: number }) {
  const found = new Map<CollectionName, { findings: PagingFindings; sinceMs: number }>();
  return (name: CollectionName): PagingFindings => {
    const known = found.get(name);
    if (known !== undefined && now() - known.sinceMs < FORGET_AFTER_MS) return known.findings;
    const findings = new PagingFindings(pageSize);
    found.set(name, { findings, sinceMs: now() });
    return findings;
  };
}
