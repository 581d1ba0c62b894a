import type { PagingMode } from '../core/hub-events.ts';
import type { PageMemory, RememberedPage } from '../core/pages/page-memory.ts';
import type { PageFingerprint } from '../core/pages/page-fingerprint.ts';
import type { Collection } from '../model/collections.ts';

/** The settings of a hub in the configuration. */
export interface HubSettings {
  /** Host and tenant prefix. The paths of the collections are appended to it. */
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Revealed for every token request, so that a rotated secret takes effect. */
  readonly clientSecret: { reveal(): string };
  readonly clientAuth: 'basic' | 'post';
  /** Empty for none. */
  readonly scope: string;
  readonly pageSize: number;
  readonly paging: PagingMode | 'auto';
  /** `ignored`: Rollcall ignores how many rows the hub counts. */
  readonly totals?: 'compared' | 'ignored' | undefined;
  readonly maxConcurrentRequests: number;
  readonly requestTimeoutMs: number;
  /** Limit on the wire and after decompression. */
  readonly maxResponseBytes: number;
}

/** One page of a collection. */
export interface HubPage {
  /**
   * The parsed list. If the page is {@link known}, it is parsed when it is first read. Numbers that a double cannot
   * represent are raw JSON (see core/rows/lossless-json).
   */
  readonly rows: readonly unknown[];
  /** False if U+FFFD replaced bytes that are not UTF-8: rows that contain U+FFFD are then not what the hub sent. */
  readonly isUtf8: boolean;
  /** The hub's clock (`Date` header) for this response, ms since the epoch; null without a readable header. */
  readonly hubTimeMs: number | null;
  /** `X-Total-Count`; null when absent or unreadable. */
  readonly total: number | null;
  /** What {@link ReadOptions.readVersion} returned for the request. */
  readonly readVersion: number;
  readonly bytes: number;
  /**
   * Set when {@link ReadOptions.pages} recognised the page. Then only the times of modification of its rows may differ.
   */
  readonly known?: RememberedPage | undefined;
  /**
   * Returns what the page can be recognised by; null if a page with other rows could have the same fingerprint. Left
   * out if the page is not to be remembered.
   */
  readonly fingerprint?: (() => PageFingerprint | null) | undefined;
}

/** How a scan ended. Only some end reasons prove that the scan saw everything. */
export interface ScanEnd {
  /**
   * - `no-next-link`: a page has a `Link` header without `rel="next"` (spec 4.3 rule 8)
   * - `short-page`: a page has fewer rows than a limit that the hub honoured before (rule 2)
   * - `empty-page`: a page without rows follows pages with rows
   * - `total-reached`: the scan has as many rows as `X-Total-Count` says, and the last page is neither full nor the
   *   first; or every way of paging returns the same page, which has as many rows as `X-Total-Count` says, but not
   *   exactly as many as the limit
   * - `no-rows`: the first page is an empty list or a 204
   * - `missing-list`: a body lacks the list; this proves nothing about the hub's rows
   * - `repeated-page`: the hub ignores every way of paging and returns the same page, not a full one,
   *   each time; nothing proves that there are no other rows
   */
  readonly reason:
    | 'no-next-link'
    | 'short-page'
    | 'empty-page'
    | 'total-reached'
    | 'no-rows'
    | 'missing-list'
    | 'repeated-page';
  readonly paging: PagingMode;
  /** Number of rows delivered in that mode, including duplicates. */
  readonly rows: number;
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
}

export interface ReadOptions {
  readonly collection: Collection;
  /** For nested collections: the parent's `sourcedId`. */
  readonly parentId?: string | undefined;
  /** Only rows with `dateLastModified` after this hub time (ms since the epoch). */
  readonly modifiedAfterMs?: number | undefined;
  /** The pages of the last full keyset scan. Pages that are the same need not be parsed, and several may be requested at once. */
  readonly pages?: Pick<PageMemory, 'at' | 'recognise'> | undefined;
  /** For a reader that may have a large page already: another large page is then an error, and does not wait for its turn. */
  readonly refuseLarge?: boolean | undefined;
  /**
   * For a scan that is opened ahead of its turn: resolves when the scans before it are read. Until then the scan
   * requests no large page.
   */
  readonly turn?: Promise<void> | undefined;
  /** Called for each page's request; its result becomes {@link HubPage.readVersion}. */
  readonly readVersion: () => number;
  readonly signal: AbortSignal;
}

/** A single undecoded row. */
export interface FoundRow {
  readonly row: unknown;
  /** See {@link HubPage.isUtf8}. */
  readonly isUtf8: boolean;
  /** What the option `readVersion` returned for the request. */
  readonly readVersion: number;
}

/**
 * The client of one hub. Reads are idempotent; the implementation handles retries and `Retry-After`, the token, the
 * limit of requests at once, and paging.
 * Errors are `RollcallError`s with a `HUB_…` code.
 */
export interface Hub {
  /**
   * Scans a collection page by page, in the hub's order, and fetches one page ahead, or as many of
   * {@link ReadOptions.pages} as the limit of concurrent requests allows. A row may come twice if the hub pages by
   * offset. Throws when a page fails after retries: the pages before are valid, but the scan proves nothing.
   */
  readPages(options: ReadOptions): AsyncGenerator<HubPage, ScanEnd>;

  /**
   * Asks for single rows of a collection that is not nested (spec 4.1: `filter=sourcedId='…'`), and returns those that the
   * hub shows, in any order. A hub that refuses the filter (400, 422), or ignores it,
   * shows none. Throws the signal's reason, and every other error of the hub.
   */
  findRows(options: {
    collection: Collection;
    ids: readonly string[];
    readVersion: () => number;
    signal: AbortSignal;
  }): Promise<readonly FoundRow[]>;
}

/** All lessons of a student in a range of days. */
export interface ScheduleAnswer {
  /** Parsed; numbers that a double cannot represent are raw JSON (see core/rows/lossless-json). */
  readonly lessons: readonly unknown[];
  /** False if U+FFFD replaced bytes that are not UTF-8. */
  readonly isUtf8: boolean;
  /** The hub's clock for the first page, ms since the epoch; null without a readable `Date` header. */
  readonly hubTimeMs: number | null;
}

/**
 * Reads all pages of a student's lessons from the hub's Core API (spec 4.4), or throws. Errors are `RollcallError`s
 * with a `HUB_…` code; a body without a list of lessons is an error, too, and so is an endless listing.
 */
export type ReadSchedule = (asked: {
  readonly student: string;
  /** `YYYY-MM-DD`; `from` and `to` are inclusive. */
  readonly from: string;
  readonly to: string;
  readonly signal: AbortSignal;
}) => Promise<ScheduleAnswer>;
