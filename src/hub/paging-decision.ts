import { Fingerprints, type KeyLookup } from '../core/seen-keys.ts';
import type { ScanEnd } from './hub.ts';
import type { PagingMode } from '../core/hub-events.ts';
import { looksSorted } from './sort-order.ts';

/** The ids of a page; those of a page that was recognised are fingerprints. */
export type Ids = ReadonlySet<string> | KeyLookup;

/** The facts of a page that decide the next request. */
export interface PageFacts {
  /** False when the body had no list. */
  readonly hasList: boolean;
  readonly rowCount: number;
  /** The requested limit. */
  readonly limit: number;
  /** Readable `sourcedId`s, in the page's order. */
  readonly ids: readonly string[];
  /** Of a page that was recognised, whose `ids` hold the last one alone; the page before has none of them. */
  readonly allIds?: KeyLookup | undefined;
  /** See `markOf` in page-body.ts. */
  readonly mark: string | null;
  readonly total: number | null;
  /** See link.ts. */
  readonly paging: boolean;
  readonly nextOffered: boolean;
  readonly next: URL | null;
}

/** The state of a scan. `…InMode` counts from the last step-down, which starts the scan again. */
export interface ScanState {
  readonly mode: PagingMode;
  /** Whether the scan may change the mode; false when hub.paging prescribes it. */
  readonly auto: boolean;
  /** The scan is incremental: the hub's totals may count the unfiltered rows. */
  readonly filtered: boolean;
  readonly pagesInMode: number;
  readonly rowsInMode: number;
  /** Rows delivered in earlier modes. */
  readonly rowsBefore: number;
  /** Cursor of the page's request; null for a first page. */
  readonly cursor: string | null;
  readonly firstTotal: number | null;
  readonly previousIds: Ids;
  /** The limit of a page that came back full. */
  readonly honouredLimit: number | null;
  /** Consecutive pages in offset mode without a new row. */
  readonly repeats: number;
}

export type NextStep =
  | { readonly kind: 'end'; readonly reason: ScanEnd['reason'] }
  | { readonly kind: 'follow'; readonly url: URL }
  | { readonly kind: 'cursor'; readonly cursor: string }
  | { readonly kind: 'offset' }
  | { readonly kind: 'step-down'; readonly to: PagingMode; readonly reason: string }
  | { readonly kind: 'broken'; readonly reason: string };

export interface PageDecision {
  /** False for a page that repeats an earlier one. */
  readonly deliver: boolean;
  readonly step: NextStep;
}

const CURSOR_IGNORED = 'a page repeats itself: the cursor is ignored';

/** Returns the next mode to try; null when there is none (design: Hubs that differ). */
function modeBelow(mode: PagingMode): PagingMode | null {
  if (mode === 'keyset') return 'sourced-id-filter';
  return mode === 'sourced-id-filter' ? 'offset' : null;
}

/** Returns a step to `to` (by default the next mode), or `broken` when there is no mode to try. */
export function stepDown(
  state: ScanState,
  reason: string,
  to: PagingMode | null = modeBelow(state.mode),
): NextStep {
  if (!state.auto || to === null) return { kind: 'broken', reason };
  return { kind: 'step-down', to, reason };
}

function repeatsItself(state: ScanState, page: PageFacts, marks: ReadonlySet<string>): boolean {
  if (state.pagesInMode === 0) return false;
  if (page.mark !== null && marks.has(page.mark)) return true;
  const { ids } = page;
  if (ids.length === 0) return false;
  const known = ids.filter((id) => state.previousIds.has(id)).length;
  // Offset pages overlap when rows move. Cursor pages overlap by a row or two at most, when rows move at the cursor.
  if (state.mode === 'offset') return known === ids.length;
  return ids.at(-1) === state.cursor || known * 2 >= ids.length;
}

/**
 * Whether a page without `next` calls for one more request: a hub that does not know the cursor may send `first` alone
 * although it has more rows. A correct hub answers that request with an empty page.
 */
function expectsMore(state: ScanState, page: PageFacts): boolean {
  if (page.rowCount >= page.limit) return !isTotalReached(state, page);
  const afterCursor = state.mode === 'sourced-id-filter' && state.cursor !== null;
  const soFar = afterCursor ? page.rowCount : state.rowsInMode + page.rowCount;
  return page.total !== null && page.total > soFar;
}

/**
 * Whether the hub's total shows that this page is the last. A total that equals the row count of the first page may
 * count that page alone: it proves nothing, and the scan makes one more request.
 */
function isTotalReached(state: ScanState, page: PageFacts): boolean {
  const rows = state.rowsInMode + page.rowCount;
  if (page.total === null || page.total === 0 || state.pagesInMode === 0) return false;
  // A total that changes counts the remaining rows, or the collection changes: neither ends a scan.
  if (page.total === state.firstTotal && rows === page.total) return true;
  // The hub counts only rows that match the filter: this page has all rows after the cursor.
  const isRest = state.mode === 'sourced-id-filter' && page.rowCount === page.total;
  return isRest && state.cursor !== null && rows === state.firstTotal;
}

function endReasonOf(state: ScanState, page: PageFacts): ScanEnd['reason'] | null {
  if (page.nextOffered) return null;
  if (page.paging) return expectsMore(state, page) ? null : 'no-next-link';
  if (page.rowCount >= page.limit) return null;
  if (isTotalReached(state, page)) return 'total-reached';
  return state.honouredLimit === page.limit ? 'short-page' : null;
}

/** Accepts an end in filter mode only if no row can be missing: a hub that ignores `sort` would skip rows. */
function endUnlessSkipped(state: ScanState, rowCount: number, reason: ScanEnd['reason']): NextStep {
  const expected = Math.max(state.filtered ? 0 : (state.firstTotal ?? 0), state.rowsBefore);
  if (state.mode === 'sourced-id-filter' && state.auto && state.rowsInMode + rowCount < expected) {
    return stepDown(state, 'the filter returns fewer rows than the collection has');
  }
  return { kind: 'end', reason };
}

function decideEmpty(state: ScanState): NextStep {
  if (state.pagesInMode === 0 && state.rowsBefore > 0)
    return stepDown(state, 'a page is empty where another mode returned rows');
  const nothingAtAll = state.rowsInMode + state.rowsBefore === 0;
  return endUnlessSkipped(state, 0, nothingAtAll ? 'no-rows' : 'empty-page');
}

/**
 * Whether the hub returns the same rows in every mode, and its total counts no others: then it does not page at all.
 * A page of exactly `limit` rows may be cut off, even if the total equals it.
 */
function isSameCompleteList(state: ScanState, page: PageFacts): boolean {
  if (page.nextOffered || page.rowCount === page.limit) return false;
  const hasAll = page.rowCount === page.total && page.total === state.rowsInMode;
  return hasAll && page.ids.every((id) => state.previousIds.has(id));
}

/**
 * Whether a page may have a row of the page before. Such a page is not taken unread, because its ids tell whether the hub
 * ignores the cursor.
 */
export function mayRepeat(keys: Fingerprints, before: Ids): boolean {
  if ('mayShare' in before) return before.mayShare(keys);
  if (before.size === 0) return false;
  return Fingerprints.of([...before], keys.seed)
    .lookup()
    .mayShare(keys);
}

function decideRepeated(state: ScanState, page: PageFacts): NextStep {
  if (state.mode !== 'offset') return stepDown(state, CURSOR_IGNORED);
  if (isSameCompleteList(state, page)) return { kind: 'end', reason: 'total-reached' };
  // One repetition may come from a row that moved between two requests.
  if (state.repeats === 0) return { kind: 'offset' };
  const moreExpected = !state.filtered && page.total !== null && page.total > state.previousIds.size;
  if (page.rowCount >= page.limit || page.nextOffered || moreExpected) {
    return {
      kind: 'broken',
      reason: 'the hub also ignores limit and offset, and has more rows than it returned',
    };
  }
  return { kind: 'end', reason: 'repeated-page' };
}

/** Whether an address continues by something that only the hub understands. */
function isOpaque({ searchParams }: URL): boolean {
  return !searchParams.has('afterSourcedId') && !searchParams.has('offset');
}

function decideNext(state: ScanState, page: PageFacts): NextStep {
  const { next } = page;
  if (state.mode === 'offset')
    return next !== null && isOpaque(next) ? { kind: 'follow', url: next } : { kind: 'offset' };
  // A link says only that there is more: a public server's led one row too far (spec 4.3 rule 2).
  const cursor = page.ids.at(-1);
  return cursor === undefined
    ? stepDown(state, 'a page has no row with an id to continue from', 'offset')
    : { kind: 'cursor', cursor };
}

/**
 * Decides the next step after a page (spec 4.3; design: Syncs, Hubs that differ). Pure.
 * It never orders ids to choose a page, because the hub's collation is unknown. `marks`: of the earlier pages in this mode.
 */
export function decidePage(state: ScanState, page: PageFacts, marks: ReadonlySet<string>): PageDecision {
  if (!page.hasList) return { deliver: true, step: { kind: 'end', reason: 'missing-list' } };
  if (page.rowCount === 0) return { deliver: true, step: decideEmpty(state) };
  if (repeatsItself(state, page, marks)) return { deliver: false, step: decideRepeated(state, page) };
  if (state.mode === 'sourced-id-filter' && state.auto && !looksSorted(page.ids)) {
    return { deliver: false, step: stepDown(state, 'rows are not sorted by sourcedId') };
  }
  const reason = endReasonOf(state, page);
  const step = reason === null ? decideNext(state, page) : endUnlessSkipped(state, page.rowCount, reason);
  return { deliver: true, step };
}

/** Returns the state after a page, before its step. */
export function afterPage(state: ScanState, page: PageFacts, decision: PageDecision): ScanState {
  const full = page.rowCount === page.limit;
  return {
    ...state,
    pagesInMode: state.pagesInMode + 1,
    rowsInMode: state.rowsInMode + (decision.deliver ? page.rowCount : 0),
    firstTotal: state.pagesInMode === 0 ? page.total : state.firstTotal,
    previousIds: page.allIds ?? new Set(page.ids),
    honouredLimit: full ? page.limit : state.honouredLimit,
    repeats: decision.deliver ? 0 : state.repeats + 1,
  };
}

/** Returns the state at the start of a scan, or of its continuation in another mode. */
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
    previousIds: new Set<string>(),
    honouredLimit: null,
    repeats: 0,
  };
}
