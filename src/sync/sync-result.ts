import type { Person } from '../model/progress.ts';
import type { Republication } from '../table/active-sync.ts';
import type { Approved } from '../table/deletions.ts';
import type { Shortfall } from '../core/deletions/evidence.ts';
import type { SyncStats } from '../core/sync-stats.ts';

/** Options of a requested sync. */
export interface SyncOptions {
  /** A person has confirmed that rows that do not match the published ones are right. */
  readonly acceptNew?: boolean | undefined;
  readonly person?: Person | undefined;
  /** For a full sync: what a person has approved, at most 100,000 keys. They are removed if the sync misses them too. */
  readonly approved?: Approved | undefined;
  /**
   * The full sync confirms what the full sync before it missed. It reads only the scopes of missing rows, and asks
   * for no confirming sync itself.
   */
  readonly confirming?: boolean | undefined;
  /** Rows to republish even if they are unchanged. */
  readonly republication?: Republication | undefined;
  readonly onPage?: (() => void) | undefined;
}

interface Ended {
  readonly stats: SyncStats;
  readonly rowsOnHold: number;
  /** A full sync brought fewer rows than the hub's total. */
  readonly short: Shortfall | null;
  /** When the confirming sync is due, ms since the epoch; null: this sync needs none. */
  readonly confirmAtMs: number | null;
  /** Number of approved removals that are published now; null or undefined: none were approved. */
  readonly approvedGone?: number | null | undefined;
}

export type SyncResult =
  | (Ended & {
      readonly kind: 'complete';
      /** Rows that are removed if another full sync misses them, too. */
      readonly unconfirmed: number;
    })
  /** Inconclusive: nothing proves that the hub's list is complete. The watermark stays. */
  | (Ended & { readonly kind: 'inconclusive'; readonly why: string });

/** A full sync replaces the incremental sync, which would bring most of the collection, or brought fewer rows than the hub's total. */
export interface ReplacedSync {
  readonly kind: 'becomes-full';
  readonly why: 'oversized' | 'short';
  readonly stats: SyncStats;
}
