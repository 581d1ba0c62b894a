import { shortfallOf, type ScanEvidence } from '../core/deletions/evidence.ts';

/** Findings of a collection's syncs about the hub, for later syncs of the same session. */
export class HubFindings {
  /** True if the hub's last answer was that it does not have the collection. */
  isNotOffered = false;
  /** Whether an incremental sync ever brought a row. */
  hasIncrementalBrought = false;
  /** The hub's clock minus ours at the last sync; null before the first. */
  skewMs: number | null = null;
  /** Whether the last full sync was inconclusive. Until a full sync is conclusive, changes are published, but the watermark stays. */
  isInconclusive = false;
  /** Scopes that could not be read by the last sync that asked for them, and since when: the watermark may have moved on without them. */
  readonly unread = new Map<string, number>();
  /** The hub's totals without a filter, by scope. */
  readonly #unfilteredTotals = new Map<string, number | null>();
  #ignoresFilteredTotals = false;

  noteFullSync(sync: {
    readonly isInconclusive: boolean;
    readonly scans: readonly ScanEvidence[];
    readonly isConfirming: boolean;
  }): void {
    this.isInconclusive = sync.isInconclusive;
    for (const { scope, totalAtEnd } of sync.scans) this.#unfilteredTotals.set(scope, totalAtEnd);
    if (!sync.isConfirming) this.#ignoresFilteredTotals = false;
  }

  /**
   * Called after a complete full sync that replaced a short incremental sync: from now on, the totals that the hub
   * sends with filtered lists are not trusted.
   */
  ignoreFilteredTotals(): void {
    this.#ignoresFilteredTotals = true;
  }

  /** Whether an incremental scan brought fewer rows than the hub's total. A total that equals the unfiltered total says nothing. */
  isShortIncremental(scan: ScanEvidence): boolean {
    const shortfall = this.#ignoresFilteredTotals ? null : shortfallOf(scan);
    return shortfall !== null && shortfall.total !== this.#unfilteredTotals.get(scan.scope);
  }
}
