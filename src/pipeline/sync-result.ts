import type { Shortfall } from '../core/deletions/evidence.ts';
import type { SyncStats } from './sync-stats.ts';

interface Ended {
  readonly stats: SyncStats;
  readonly withheld: number;
  /** A full sync stayed below the hub's total. */
  readonly short: Shortfall | null;
  /** When the confirming sync is due, ms since the epoch; null: none is owed because of this sync. */
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
  | (Ended & { readonly kind: 'inconclusive'; readonly why: string })
  /** An incremental sync that would bring most of the collection, or stayed below the hub's total: a full one replaces it. */
  | { readonly kind: 'becomes-full'; readonly because: 'oversized' | 'short'; readonly stats: SyncStats };
