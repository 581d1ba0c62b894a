import type { FullPullTime } from '../../core/full-pull-time.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Progress } from '../../model/progress.ts';
import type { LateNote } from '../../state/index-store.ts';
import type { KnownContradictions } from './contradictions.ts';

/** What `status` reads about a collection. */
export interface CollectionFacts {
  readonly collection: CollectionName;
  readonly hasDelta: boolean;
  readonly deltaEveryMs: number;
  readonly fullPull: FullPullTime;
  /** Null: nothing is committed. */
  readonly progress: Progress | null;
  /** Number of withheld keys in the index; null when the index is not available. */
  readonly withheldInIndex: number | null;
  /** The full sync whose withheld deletions are decided, from the index; null for none. */
  readonly settledPassId: string | null;
  /** Rows that incremental syncs missed, from the index; null when unknown. */
  readonly lateRows: LateNote | null;
  /** Time of the last commit of its progress, ms since the epoch, from the index; null when unknown. */
  readonly committedAtMs: number | null;
}

export interface TenantFacts {
  readonly tenant: string;
  readonly deltaOverlapMs: number;
  readonly collections: readonly CollectionFacts[];
  /** The last process that took over the tenant, from the log. */
  readonly owner: { readonly owner: string; readonly ownedSinceMs: number } | null;
  /** Whether the owner has a heartbeat; null when the index is not available. */
  readonly isOwnerAlive: boolean | null;
  /** Collections that the hub did not offer at the last request, from the index. */
  readonly notOffered: readonly string[];
  /** Collections whose rows at the hub may be another tenant's, from the index: nothing is published. */
  readonly wrongTenant: readonly string[];
  /** Null when absences are not mirrored, or the index is not available. */
  readonly contradictions: KnownContradictions | null;
  readonly nowMs: number;
}
