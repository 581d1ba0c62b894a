import type { SyncStats } from './sync-stats.ts';

export type SyncResult =
  | {
      readonly kind: 'complete';
      readonly stats: SyncStats;
      readonly withheld: number;
      readonly wantsSecondSync: boolean;
      /** It lost so many rows that the other collections are to be looked at before that second pass. */
      readonly wantsOthersFirst?: boolean | undefined;
      /** Approved removals that are gone from the topics now; null or undefined: none were approved. */
      readonly approvedGone?: number | null | undefined;
    }
  /** The hub gave no proof that its list is whole, or none at all: nothing was removed, the watermark stays. */
  | {
      readonly kind: 'suspect';
      readonly stats: SyncStats;
      readonly why: string;
      readonly withheld: number;
      /** What it says is listed for a person: only that person can believe it. */
      readonly isListed?: boolean | undefined;
      /** As above, where only some of what was approved could be listed. */
      readonly approvedGone?: number | null | undefined;
    }
  /** A delta that would bring most of the collection: a full pass does that better. */
  | { readonly kind: 'wholesale'; readonly stats: SyncStats };
