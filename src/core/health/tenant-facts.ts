import type { DailyTime } from '../daily-time.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Progress, SyncMode } from '../../model/progress.ts';

/**
 * What the health of a tenant consists of: the gravest first, and causes before what follows from them. Metrics, `/readyz` and
 * the status page use these names.
 */
export const TENANT_PARTS = [
  'failed',
  'kafka',
  'redis',
  'registry',
  'owner',
  'pipeline',
  'hub',
  'start',
  'quota',
  'short',
  'collection',
  'rejects',
  'full',
  'watermark',
  'removals',
  'load',
] as const;

/** `stop` and `configuration` concern the process, and `decision` a tenant that may be well. */
export type HealthPart = (typeof TENANT_PARTS)[number] | 'stop' | 'configuration' | 'decision';

/** Why a part is not well, for people and probes: without secrets and row content. */
export interface NotReady {
  readonly part: HealthPart;
  /** A sentence, with the code of the error if there is one. */
  readonly why: string;
  readonly remedy: string;
  /** ISO 8601; null or left out: not known. */
  readonly since?: string | null | undefined;
}

/** What is known of a collection; null: unknown. */
export interface CollectionFacts {
  readonly collection: CollectionName;
  /** Whether incremental syncs move the watermark; otherwise only a full sync does. */
  readonly hasIncremental: boolean;
  readonly incrementalEveryMs: number;
  readonly fullSync: DailyTime;
  /** Null: nothing is committed. */
  readonly progress: Progress | null;
  /** Rows that the last full sync found and incremental syncs had missed. */
  readonly rowsLate: number;
  /** Whether no incremental sync had brought a row before that full sync. */
  readonly filterSelectsNothing: boolean;
  /** Settings that match nothing at the hub (rows/unmet-settings.ts). */
  readonly unmet: readonly string[];
  /** Rows in the topic now, as its process counts them. */
  readonly rowsNow: number | null;
  /** Rows that cannot be read now. */
  readonly rejectsNow: number | null;
  /** Why its syncs fail, once two of a kind have failed in a row; null: they do not. */
  readonly failing: Omit<NotReady, 'part'> | null;
  /** Whether its full sync is due, and waits for those of other tenants. */
  readonly isWaiting: boolean;
  /** The sync that runs now. */
  readonly running: RunningSync | null;
}

export interface RunningSync {
  readonly mode: SyncMode;
  /** Local clock, ISO 8601. */
  readonly startedAt: string;
  /** Rows that the sync has seen so far. */
  readonly seen: number;
  /** Rows that it will see, by the hub's total or by the last full sync; null: unknown. */
  readonly expected: number | null;
}

/** A running process that owns a tenant. */
export interface OwnerHeartbeat {
  readonly owner: string;
  /**
   * When it took the tenant over, by its own wall clock, ms since the epoch; 0: it is about to take the tenant over.
   */
  readonly ownedSinceMs: number;
  /** The health of the tenant, as this process sees it (telemetry/board.ts); empty while a command owns the tenant. */
  readonly info: Readonly<Record<string, string>>;
}

/**
 * Reads the heartbeats of tenants in one round trip, and returns them in the order of `tenantIds`. `facts`: the keys of
 * {@link OwnerHeartbeat.info} to read; left out: none. Without Redis, the list is empty. Throws `INDEX_UNREACHABLE`,
 * `INDEX_REFUSED`.
 */
export type ReadHeartbeats = (
  tenantIds: readonly string[],
  facts?: readonly string[],
) => Promise<readonly (OwnerHeartbeat | null)[]>;

export interface TenantFacts {
  readonly tenant: string;
  readonly incrementalOverlapMs: number;
  readonly collections: readonly CollectionFacts[];
  /** The last process that took over the tenant, from the log. */
  readonly owner: Pick<OwnerHeartbeat, 'owner' | 'ownedSinceMs'> | null;
  /** Null: unknown, as without Redis. */
  readonly isOwnerAlive: boolean | null;
  /** Collections that the hub did not offer at the last request. */
  readonly notOffered: readonly string[];
  /** Whether absences are lost (`ABSENCES_LOST`), as the process that mirrors the tenant reports; left out: not known. */
  readonly areAbsencesLost?: boolean | undefined;
  /** Number of contradictory absences; null: unknown, or absences are not mirrored. */
  readonly contradictions: number | null;
  /** The troubles that the process that mirrors the tenant reports; left out if it reports none. */
  readonly reported?: readonly NotReady[] | undefined;
  /** Hub clock minus ours, ms, as the last sync measured it; left out: they are taken to agree. */
  readonly hubSkewMs?: number | undefined;
  readonly nowMs: number;
}
