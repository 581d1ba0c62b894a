import { shortfallOf, type ScanEvidence } from '../core/deletions/evidence.ts';

/** Findings of a collection's syncs about the hub, for later syncs of the same session. */
export class HubFindings {
  /** The hub's last answer was that it does not have the collection. */
  isNotOffered = false;
  /** Whether an incremental sync ever brought a row. */
  hasIncrementalBrought = false;
  /** The hub's clock minus ours at the last sync; null before the first. */
  skewMs: number | null = null;
  /** Whether the last full sync was inconclusive: until one is not, changes are published, but the watermark stays. */
  isInconclusive = false;
  /** Scopes that the last sync that asked for them could not read, and since when: the watermark may have moved on without them. */
  readonly unread = new Map<string, number>();
  /** The hub's totals without a filter, by scope. */
  readonly #unfilteredTotals = new Map<string, number | null>();
  #ignoresFilteredTotals = false;

  /** Converts a time of the local clock to the hub's clock. */
  hubTimeMs(ownTimeMs: number): number {
    return ownTimeMs + (this.skewMs ?? 0);
  }

  noteFullSync(sync: {
    readonly isInconclusive: boolean;
    readonly scans: readonly ScanEvidence[];
    readonly isConfirming: boolean;
  }): void {
    this.isInconclusive = sync.isInconclusive;
    for (const { scope, totalAtEnd } of sync.scans) this.#unfilteredTotals.set(scope, totalAtEnd);
    if (!sync.isConfirming) this.#ignoresFilteredTotals = false;
  }

  /** A full sync was complete that replaced a short incremental one: the totals of filtered lists count other rows. */
  ignoreFilteredTotals(): void {
    this.#ignoresFilteredTotals = true;
  }

  /** Whether an incremental scan stayed below the hub's total; a total that equals the unfiltered one says nothing. */
  isShortIncremental(scan: ScanEvidence): boolean {
    const shortfall = this.#ignoresFilteredTotals ? null : shortfallOf(scan);
    return shortfall !== null && shortfall.total !== this.#unfilteredTotals.get(scan.scope);
  }
}
