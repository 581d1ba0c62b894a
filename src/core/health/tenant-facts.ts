import type { FullPullTime } from '../full-pull-time.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Progress, SyncMode } from '../../model/progress.ts';
import type { LateNote } from '../late-rows.ts';

/** What the health of a tenant consists of. Metrics, `/readyz` and the status page name the parts like this. */
export const TENANT_PARTS = [
  'failed',
  'pipeline',
  'hub',
  'breaker',
  'kafka',
  'quota',
  'registry',
  'redis',
  'owner',
  'load',
  'short',
  'full',
  'watermark',
] as const;

/** A part that readiness depends on; `stop` concerns the process. */
export type HealthPart = (typeof TENANT_PARTS)[number] | 'stop';

/** Why a part is not ready, for people and probes: without secrets and row content. */
export interface NotReady {
  readonly part: HealthPart;
  /** Absent if it concerns every tenant. */
  readonly tenant?: string | undefined;
  readonly why: string;
  readonly remedy: string;
}

/** How much of what the hub says of its absences does not fit. */
export interface KnownContradictions {
  /** The counts are lower bounds: the index has more entries than were read. */
  readonly isAtLeast: boolean;
  readonly absences: number;
  /** Links between versions that are not followed. */
  readonly links: number;
  /** Versions that the hub gave to another student: they are among the rejects. */
  readonly students: number;
  /** The first few. */
  readonly first: readonly ContradictoryAbsence[];
}

export interface ContradictoryAbsence {
  readonly absenceId: string;
  readonly links: number;
  readonly students: number;
}

/** What `status` reads about a collection. */
export interface CollectionFacts {
  readonly collection: CollectionName;
  readonly hasIncremental: boolean;
  readonly deltaEveryMs: number;
  readonly fullPull: FullPullTime;
  /** Null: nothing is committed. */
  readonly progress: Progress | null;
  /** Rows that incremental syncs missed, from the index; null when unknown. */
  readonly lateRows: LateNote | null;
  /** Time of the last commit of its progress, ms since the epoch, from the index; null when unknown. */
  readonly committedAtMs: number | null;
  /** The sync that runs now, where the process that runs it says so; status reads it from the progress instead. */
  readonly running?: RunningSync | undefined;
}

export interface RunningSync {
  readonly mode: SyncMode;
  /** Local clock, ms since the epoch. */
  readonly startedAtMs: number;
  /** Rows that the sync has seen so far. */
  readonly seen: number;
  /** Rows that it will see, by the hub's total or by the last full sync; null: unknown. */
  readonly expected: number | null;
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
  /** Collections whose rows at the hub may be another tenant's, as the process that mirrors found: none of them is published. */
  readonly wrongTenant: readonly CollectionName[];
  /** Whether absences are lost (`ABSENCES_LOST`), as the process that mirrors the tenant reports; left out: not known. */
  readonly areAbsencesLost?: boolean | undefined;
  /** Null when absences are not mirrored, or the index is not available. */
  readonly contradictions: KnownContradictions | null;
  /** The troubles that the process that mirrors the tenant reports; left out if it reports none. */
  readonly reported?: readonly NotReady[] | undefined;
  /** Hub clock minus ours, ms, as the last sync measured it; left out: they are taken to agree. */
  readonly hubSkewMs?: number | undefined;
  readonly nowMs: number;
}
