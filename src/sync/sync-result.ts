import type { Person } from '../model/progress.ts';
import type { Republication } from '../table/active-sync.ts';
import type { Approved } from '../table/deletions.ts';
import type { Shortfall } from '../core/deletions/evidence.ts';
import type { SyncStats } from '../core/sync-stats.ts';

/** Options of a requested sync. */
export interface SyncOptions {
  /** A person has confirmed that rows unlike the published ones are right. */
  readonly acceptNew?: boolean | undefined;
  readonly person?: Person | undefined;
  /** For a full sync: what a person has approved, at most 100,000 keys. They are removed if the sync misses them too. */
  readonly approved?: Approved | undefined;
  /** The full sync confirms what the one before missed: it reads only the scopes of missing rows, and asks for none itself. */
  readonly confirming?: boolean | undefined;
  /** Rows to republish even if unchanged. */
  readonly republication?: Republication | undefined;
  readonly onPage?: (() => void) | undefined;
}

interface Ended {
  readonly stats: SyncStats;
  readonly rowsOnHold: number;
  /** A full sync stayed below the hub's total. */
  readonly short: Shortfall | null;
  /** When the confirming sync is due, ms since the epoch; null: this sync needs none. */
  readonly confirmAtMs: number | null;
  /** Number of approved removals that are published now; null or undefined: none were approved. */
  readonly approvedGone?: number | null | undefined;
}

export type SyncResult =
  | (Ended & {
      readonly kind: 'complete';
      /** Rows that another full sync must miss too before they are removed. */
      readonly unconfirmed: number;
    })
  /** Inconclusive: nothing proves that the hub's list is complete. The watermark stays. */
  | (Ended & { readonly kind: 'inconclusive'; readonly why: string });

/** An incremental sync that would bring most of the collection, or stayed below the hub's total: a full one replaces it. */
export interface ReplacedSync {
  readonly kind: 'becomes-full';
  readonly because: 'oversized' | 'short';
  readonly stats: SyncStats;
}
