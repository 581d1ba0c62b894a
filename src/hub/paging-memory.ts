import type { CollectionName } from '../model/collections.ts';
import type { PagingMode } from './hub.ts';

/** A better mode is tried again after a day: hubs are upgraded. */
const RETRY_AFTER_MS = 24 * 3_600_000;
/** Below this a smaller page does not help a slow hub any more. */
const MIN_PAGE_SIZE = 50;

/** What was found out about how the hub pages one collection. */
interface Findings {
  mode: PagingMode | null;
  /** The hub takes `sort` and `orderBy`; found out at the first offset walk. */
  sortRefused: boolean;
  /** Lower than the configured page size after time-outs, or where the hub clamps. */
  limit: number | null;
  foundAtMs: number;
  readonly told: Set<string>;
}

/** Remembers, per collection and for a day, which paging works; kept in memory only. */
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
    const told = known?.told ?? new Set<string>();
    const fresh: Findings = { mode: null, sortRefused: false, limit: null, foundAtMs: this.#now(), told };
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

  limit(name: CollectionName): number {
    return this.#of(name).limit ?? this.#pageSize;
  }

  rememberLimit(name: CollectionName, limit: number): void {
    this.#of(name).limit = limit;
  }

  /** Halves the page size after a time-out (spec 8), not below 50; says what it became, null when it stays. */
  halve(name: CollectionName, triedLimit: number): { from: number; to: number } | null {
    const from = this.limit(name);
    // Another request of the same collection may have halved it meanwhile.
    const to = Math.max(Math.min(MIN_PAGE_SIZE, from), Math.floor(triedLimit / 2));
    if (to >= from) return null;
    this.rememberLimit(name, to);
    return { from, to };
  }

  /** True the first time only: some things are said once per collection, not once per page. */
  firstTime(name: CollectionName, what: string): boolean {
    const { told } = this.#of(name);
    if (told.has(what)) return false;
    told.add(what);
    return true;
  }
}
