import type { Collection } from '../model/collections.ts';

/** A page of a collection as it arrived. */
export interface HubPage {
  /** The list's elements, parsed; numbers that a double cannot hold are raw JSON (see core/lossless-json). */
  readonly rows: readonly unknown[];
  /** False where bytes that are no UTF-8 were replaced by U+FFFD: rows that hold one are not what the hub said. */
  readonly isUtf8: boolean;
  /** The hub's clock (`Date` header) for this response, ms since the epoch; null when it sent none that can be read. */
  readonly hubTimeMs: number | null;
  /** `X-Total-Count`, null when absent or unreadable. */
  readonly total: number | null;
  /** Local monotonic time at which the request was sent, ms (performance.now). */
  readonly sentAtMs: number;
  /** What {@link ReadOptions.readVersion} returned when the request was sent. */
  readonly readVersion: number;
  readonly bytes: number;
}

/** How the hub ended a walk. Only some ends prove that everything was seen. */
export interface ScanEnd {
  /**
   * - `no-next-link`: a page with a `Link` header but without `rel="next"` (spec 4.3 rule 8)
   * - `short-page`: fewer rows than a limit that the hub was seen to honour (rule 2)
   * - `empty-page`: a page without rows after others
   * - `total-reached`: as many rows as `X-Total-Count` said, on a page that was not full and not the first;
   *   or the same rows again however they are asked for, as many as it said, not a full page
   * - `no-rows`: nothing at all: an empty list or 204 on the first page
   * - `missing-list`: a body without the list; says nothing about what the hub holds
   * - `repeated-page`: the hub ignores every way of paging and gives the same page, not a full one,
   *   each time; all it gives was seen, but nothing proves that it is all
   */
  readonly sign:
    | 'no-next-link'
    | 'short-page'
    | 'empty-page'
    | 'total-reached'
    | 'no-rows'
    | 'missing-list'
    | 'repeated-page';
  readonly paging: PagingMode;
  /** Rows delivered, duplicates included. */
  readonly rows: number;
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
}

export type PagingMode = 'keyset' | 'sourced-id-filter' | 'offset';

export interface ReadOptions {
  readonly collection: Collection;
  /** For nested collections: the parent's `sourcedId`. */
  readonly parentId?: string | undefined;
  /** Only rows with `dateLastModified` after this hub time (ms since the epoch). */
  readonly modifiedAfterMs?: number | undefined;
  /** Called when a page's request is sent; the answer comes back as {@link HubPage.readVersion}. */
  readonly readVersion: () => number;
  readonly signal: AbortSignal;
}

/** A single row, as it came. */
export interface FoundRow {
  readonly row: unknown;
  /** As {@link HubPage.isUtf8}. */
  readonly isUtf8: boolean;
  /** What `stamp` returned when the request was sent. */
  readonly readVersion: number;
}

/** What became of the ids asked for. Ids that are in neither list could not be told: they may be there or not. */
export interface FoundRows {
  /** Rows that the hub has, in any order, each of one of the ids. */
  readonly rows: readonly FoundRow[];
  /**
   * Ids that the hub does not have, proven by a control question: a row that it lists is found by the very filter.
   * Never an id with a quote, as hubs differ in how they want it written, nor one with U+FFFD.
   */
  readonly gone: readonly string[];
}

/**
 * Where the data comes from. Reads are idempotent; retries, token, rate limits and paging are the
 * implementation's business. Errors are `RollcallError`s with a `HUB_…` code.
 */
export interface Hub {
  /**
   * Walks a collection page by page, in the hub's order, fetching ahead at most one page.
   * A row may come twice where the hub pages by offset. Throws when a page cannot be had after retries:
   * what was yielded until then is valid, but the walk proves nothing.
   */
  readPages(options: ReadOptions): AsyncGenerator<HubPage, ScanEnd>;

  /**
   * Asks for single rows again (spec 4.1: class by id; else `filter=sourcedId='…'`).
   * Returns which of the ids the hub still has. Throws if it cannot be told for any of them.
   */
  findExisting(options: {
    collection: Collection;
    parentId?: string | undefined;
    ids: readonly string[];
    signal: AbortSignal;
  }): Promise<ReadonlySet<string>>;

  /**
   * Asks for single rows of a collection that is not nested (spec 4.1: `filter=sourcedId='…'`). Where the hub ignores
   * or refuses the filter, the ids are left untold, and those not asked for by then are not asked for any more.
   * Throws only what concerns the hub as a whole (not reached, 5xx after retries, circuit open, token, no JSON even
   * where the rows are listed), so that one may wait, and the signal's reason.
   */
  findRows(options: {
    collection: Collection;
    ids: readonly string[];
    readVersion: () => number;
    signal: AbortSignal;
  }): Promise<FoundRows>;
}
