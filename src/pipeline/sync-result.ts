import type { SyncStats } from './sync-stats.ts';

export type SyncResult =
  | {
      readonly kind: 'complete';
      readonly stats: SyncStats;
      readonly withheld: number;
      readonly wantsSecondSync: boolean;
      /** So many rows are missing that the other collections' losses must be known before the second sync. */
      readonly wantsOthersFirst?: boolean | undefined;
      /** Number of approved removals that are published now; null or undefined: none were approved. */
      readonly approvedGone?: number | null | undefined;
    }
  /** Inconclusive: nothing proves that the hub's list is complete. Nothing was removed, the watermark stays. */
  | {
      readonly kind: 'inconclusive';
      readonly stats: SyncStats;
      readonly why: string;
      readonly withheld: number;
      /** The removals that follow from the answer are listed for a decision. */
      readonly isListed?: boolean | undefined;
      /** Number of approved removals that are published now, if only a part of them fitted into the list. */
      readonly approvedGone?: number | null | undefined;
    }
  /** An oversized delta: the sync would bring most of the collection, and a full sync replaces it. */
  | { readonly kind: 'oversized'; readonly stats: SyncStats };
