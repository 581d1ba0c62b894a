import type { PagingMode, ScanEnd } from './hub.ts';
import type { NextLink } from './link.ts';
import { looksSorted } from './sort-order.ts';

/** What a page tells about the way on. */
export interface PageFacts {
  /** False when the body had no list. */
  readonly hasList: boolean;
  readonly rowCount: number;
  /** The limit that was asked for. */
  readonly limit: number;
  /** Readable `sourcedId`s, in the page's order. */
  readonly ids: readonly string[];
  /** By what the page is known again (its first row). */
  readonly mark: string | null;
  readonly total: number | null;
  /** See link.ts. */
  readonly paging: boolean;
  readonly nextOffered: boolean;
  readonly next: NextLink | null;
}

/** What a walk knows so far. `…InMode` counts from the last step-down, which begins anew. */
export interface ScanState {
  readonly mode: PagingMode;
  /** The mode was found out, so that another may be tried; false where it is prescribed. */
  readonly auto: boolean;
  /** The walk is a delta: totals may be those of the unfiltered set. */
  readonly filtered: boolean;
  readonly pagesInMode: number;
  readonly rowsInMode: number;
  /** Rows of the modes given up before. */
  readonly rowsBefore: number;
  /** Cursor of the page's request, null for a first page. */
  readonly cursor: string | null;
  readonly firstTotal: number | null;
  readonly previousIds: ReadonlySet<string>;
  readonly marks: ReadonlySet<string>;
  /** The limit that came back as a full page. */
  readonly honouredLimit: number | null;
  /** Pages in a row that brought nothing new in offset mode. */
  readonly repeats: number;
}

export type NextStep =
  | { readonly kind: 'end'; readonly sign: ScanEnd['sign'] }
  | { readonly kind: 'follow'; readonly link: NextLink }
  | { readonly kind: 'cursor'; readonly cursor: string }
  | { readonly kind: 'offset' }
  | { readonly kind: 'step-down'; readonly to: PagingMode; readonly reason: string }
  | { readonly kind: 'broken'; readonly reason: string };

export interface PageDecision {
  /** Whether the page's rows are news; a page that repeats an earlier one is not. */
  readonly deliver: boolean;
  readonly step: NextStep;
}

const CURSOR_IGNORED = 'a page repeats itself: the cursor is ignored';

/** The next mode to try, null when there is none (design: Hubs that differ). */
function modeBelow(mode: PagingMode): PagingMode | null {
  if (mode === 'keyset') return 'sourced-id-filter';
  return mode === 'sourced-id-filter' ? 'offset' : null;
}

/** A step to `to` (by default the mode below), or the end of the road. */
export function stepDown(
  state: ScanState,
  reason: string,
  to: PagingMode | null = modeBelow(state.mode),
): NextStep {
  if (!state.auto || to === null) return { kind: 'broken', reason };
  return { kind: 'step-down', to, reason };
}

function repeatsItself(state: ScanState, page: PageFacts): boolean {
  if (state.pagesInMode === 0) return false;
  if (page.mark !== null && state.marks.has(page.mark)) return true;
  const { ids } = page;
  if (ids.length === 0) return false;
  const known = ids.filter((id) => state.previousIds.has(id)).length;
  // Offset pages may overlap when rows move; pages by cursor may not, but for a row or two of a moving front.
  if (state.mode === 'offset') return known === ids.length;
  return ids.at(-1) === state.cursor || known * 2 >= ids.length;
}

/**
 * Whether a page without `next` gives reason to ask once more: hubs that do not know the cursor send
 * `first` alone, and there is more. An honest hub answers with an empty page.
 */
function saysMore(state: ScanState, page: PageFacts): boolean {
  if (page.rowCount >= page.limit) return !isTotalReached(state, page);
  const afterCursor = state.mode === 'sourced-id-filter' && state.cursor !== null;
  const soFar = afterCursor ? page.rowCount : state.rowsInMode + page.rowCount;
  return page.total !== null && page.total > soFar;
}

/**
 * Whether the hub's count says that this page is the last. A total that equals just this page may count the page alone:
 * by itself it proves nothing, and one more request tells.
 */
function isTotalReached(state: ScanState, page: PageFacts): boolean {
  const rows = state.rowsInMode + page.rowCount;
  if (page.total === null || page.total === 0 || state.pagesInMode === 0) return false;
  // A total that moves is one of rows left, or of a collection that moves: neither ends a walk.
  if (page.total === state.firstTotal && rows === page.total) return true;
  // A hub that counts only what the filter leaves: this page is all there is after the cursor.
  const isRest = state.mode === 'sourced-id-filter' && page.rowCount === page.total;
  return isRest && state.cursor !== null && rows === state.firstTotal;
}

function endOf(state: ScanState, page: PageFacts): ScanEnd['sign'] | null {
  if (page.nextOffered) return null;
  if (page.paging) return saysMore(state, page) ? null : 'no-next-link';
  if (page.rowCount >= page.limit) return null;
  if (isTotalReached(state, page)) return 'total-reached';
  return state.honouredLimit === page.limit ? 'short-page' : null;
}

/** An end in filter mode stands only if no row can have been jumped over: an ignored `sort` would do that. */
function ended(state: ScanState, rowCount: number, sign: ScanEnd['sign']): NextStep {
  const expected = Math.max(state.filtered ? 0 : (state.firstTotal ?? 0), state.rowsBefore);
  if (state.mode === 'sourced-id-filter' && state.auto && state.rowsInMode + rowCount < expected) {
    return stepDown(state, 'fewer rows by filter than there are');
  }
  return { kind: 'end', sign };
}

function decideEmpty(state: ScanState): NextStep {
  if (state.pagesInMode === 0 && state.rowsBefore > 0)
    return stepDown(state, 'no rows where there were some');
  const nothingAtAll = state.rowsInMode + state.rowsBefore === 0;
  return ended(state, 0, nothingAtAll ? 'no-rows' : 'empty-page');
}

/**
 * Whether a hub that was asked in every way gives the same rows again, and counts no others: it does not page at all.
 * Exactly as many rows as asked for may be cut off at `limit`, whatever the hub counts.
 */
function isAllAgain(state: ScanState, page: PageFacts): boolean {
  if (page.nextOffered || page.rowCount === page.limit) return false;
  const isAll = page.rowCount === page.total && page.total === state.rowsInMode;
  return isAll && page.ids.every((id) => state.previousIds.has(id));
}

function decideRepeated(state: ScanState, page: PageFacts): NextStep {
  if (state.mode !== 'offset') return stepDown(state, CURSOR_IGNORED);
  if (isAllAgain(state, page)) return { kind: 'end', sign: 'total-reached' };
  // Once may be a row that moved between two requests.
  if (state.repeats === 0) return { kind: 'offset' };
  const moreExpected = !state.filtered && page.total !== null && page.total > state.previousIds.size;
  if (page.rowCount >= page.limit || page.nextOffered || moreExpected) {
    return { kind: 'broken', reason: 'limit and offset are ignored too, and there are more rows than came' };
  }
  return { kind: 'end', sign: 'repeated-page' };
}

function decideNext(state: ScanState, page: PageFacts): NextStep {
  const { next } = page;
  if (state.mode === 'offset') {
    return next !== null && next.carries === 'opaque' ? { kind: 'follow', link: next } : { kind: 'offset' };
  }
  // A link by offset is not followed while the cursor may work: deep offsets cost (spec 4.3 rule 1).
  if (state.mode === 'keyset' && next !== null && next.cursor !== null && next.cursor !== state.cursor) {
    return { kind: 'follow', link: next };
  }
  const cursor = page.ids.at(-1);
  return cursor === undefined
    ? stepDown(state, 'a page has no row with an id to go on from', 'offset')
    : { kind: 'cursor', cursor };
}

/**
 * What to do after a page (spec 4.3; design: Passes, Hubs that differ). Pure.
 * Ids are never compared by order to find the way: collation is the hub's.
 */
export function decidePage(state: ScanState, page: PageFacts): PageDecision {
  if (!page.hasList) return { deliver: true, step: { kind: 'end', sign: 'missing-list' } };
  if (page.rowCount === 0) return { deliver: true, step: decideEmpty(state) };
  if (repeatsItself(state, page)) return { deliver: false, step: decideRepeated(state, page) };
  if (state.mode === 'sourced-id-filter' && state.auto && !looksSorted(page.ids)) {
    return { deliver: false, step: stepDown(state, 'rows are not sorted by sourcedId') };
  }
  const sign = endOf(state, page);
  const step = sign === null ? decideNext(state, page) : ended(state, page.rowCount, sign);
  return { deliver: true, step };
}

/** The state with a page taken in, before the step it led to. */
export function afterPage(state: ScanState, page: PageFacts, decision: PageDecision): ScanState {
  const full = page.rowCount === page.limit;
  return {
    ...state,
    pagesInMode: state.pagesInMode + 1,
    rowsInMode: state.rowsInMode + (decision.deliver ? page.rowCount : 0),
    firstTotal: state.pagesInMode === 0 ? page.total : state.firstTotal,
    previousIds: new Set(page.ids),
    marks: page.mark === null ? state.marks : withMark(state.marks, page.mark),
    honouredLimit: full ? page.limit : state.honouredLimit,
    repeats: decision.deliver ? 0 : state.repeats + 1,
  };
}

/** Grows in place: one walk owns its marks, and copying them at every page would cost the square of the pages. */
function withMark(marks: ReadonlySet<string>, mark: string): ReadonlySet<string> {
  (marks as Set<string>).add(mark);
  return marks;
}

/** The beginning of a walk, or of its continuation in another mode. */
export function beginIn(
  mode: PagingMode,
  options: { auto: boolean; filtered: boolean; rowsBefore: number },
): ScanState {
  return {
    mode,
    ...options,
    pagesInMode: 0,
    rowsInMode: 0,
    cursor: null,
    firstTotal: null,
    previousIds: new Set(),
    marks: new Set(),
    honouredLimit: null,
    repeats: 0,
  };
}
