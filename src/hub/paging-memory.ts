import type { CollectionName } from '../model/collections.ts';
import { noSmallerPage, type HubError } from './hub-error.ts';
import type { PagingMode } from '../core/hub-events.ts';

/** After a day the memory forgets its findings, so that a scan tries better modes again: hubs are upgraded. */
const RETRY_AFTER_MS = 24 * 3_600_000;
/** Smaller pages than this do not help a slow hub. */
const MIN_PAGE_SIZE = 50;

/** Findings of scans about the paging of one collection. */
interface Findings {
  mode: PagingMode | null;
  /** The hub refused `sort` and `orderBy`. */
  sortRefused: boolean;
  /** Even an answer to a request for one row was too large. */
  limitIgnored: boolean;
  /** Lower than the configured page size after time-outs, or when the hub clamps the limit. */
  limit: number | null;
  foundAtMs: number;
  readonly reported: Set<string>;
}

/** Remembers in memory, per collection and for a day, which paging works. */
export class PagingMemory {
  readonly #now: () => number;
  readonly #pageSize: number;
  readonly #findings = new Map<CollectionName, Findings>();

  constructor(options: { now: () => number; pageSize: number }) {
    this.#now = options.now;
    this.#pageSize = options.pageSize;
  }

  #of(name: CollectionName): Findings {
    const known = this.#findings.get(name);
    if (known !== undefined && this.#now() - known.foundAtMs < RETRY_AFTER_MS) return known;
    const reported = known?.reported ?? new Set<string>();
    const found = { mode: null, sortRefused: false, limitIgnored: false, limit: null };
    const fresh: Findings = { ...found, foundAtMs: this.#now(), reported };
    this.#findings.set(name, fresh);
    return fresh;
  }

  mode(name: CollectionName): PagingMode | null {
    return this.#of(name).mode;
  }

  rememberMode(name: CollectionName, mode: PagingMode): void {
    this.#of(name).mode = mode;
  }

  sortRefused(name: CollectionName): boolean {
    return this.#of(name).sortRefused;
  }

  rememberSortRefused(name: CollectionName): void {
    this.#of(name).sortRefused = true;
  }

  /** A page was too large, the first one or a later one. Throws if smaller pages do not help. */
  requireSmallerPage(name: CollectionName, error: HubError, page: { limit: number; isFirst: boolean }): void {
    const findings = this.#of(name);
    if (page.limit === 1 && page.isFirst) findings.limitIgnored = true;
    if (page.limit === 1 || findings.limitIgnored) throw noSmallerPage(error);
  }

  limit(name: CollectionName): number {
    return this.#of(name).limit ?? this.#pageSize;
  }

  rememberLimit(name: CollectionName, limit: number): void {
    this.#of(name).limit = limit;
  }

  /** Halves the page size after a time-out (spec 8), not below 50. Returns the change; null when there is none. */
  halve(name: CollectionName, triedLimit: number): { from: number; to: number } | null {
    const from = this.limit(name);
    // A concurrent request of the same collection may have halved it already.
    const to = Math.max(Math.min(MIN_PAGE_SIZE, from), Math.floor(triedLimit / 2));
    if (to >= from) return null;
    this.rememberLimit(name, to);
    return { from, to };
  }

  /** True for the first call with a text: some events are emitted once per collection, not once per page. */
  firstTime(name: CollectionName, what: string): boolean {
    const { reported } = this.#of(name);
    if (reported.has(what)) return false;
    reported.add(what);
    return true;
  }
}
