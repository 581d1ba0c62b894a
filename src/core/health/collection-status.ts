import { isOtherHeld } from '../deletions/waiting-list.ts';
import { lastFullPullDue } from '../full-pull-time.ts';
import { collectionNamed, type CollectionName } from '../../model/collections.ts';
import { lostSchemaIds, type SyncMode } from '../../model/progress.ts';
import { formatDuration, isoOrNull } from '../words.ts';
import type { CollectionFacts, RunningSync, TenantFacts } from './tenant-facts.ts';

/** As `/status.json` gives it; times are ISO 8601. */
export interface CollectionStatus {
  readonly collection: CollectionName;
  /** The source of a derived collection, whose status alone has the troubles of both; null for most. */
  readonly derivedFrom: CollectionName | null;
  /** The hub does not offer the collection, or its source. */
  readonly isNotOffered: boolean;
  /** Keys of the topic that the last complete full sync found at the hub. */
  readonly rows: number | null;
  /** Rows without a readable id, because of which nothing is removed that this sync did not find. */
  readonly nameless: number;
  readonly rowsInKafka: number | null;
  readonly rowsAtHub: number | null;
  readonly lastCompleteFull: string | null;
  readonly watermark: string | null;
  /** Whether incremental syncs move the watermark; otherwise only a full sync does. */
  readonly hasIncremental: boolean;
  readonly sync: { readonly mode: SyncMode; readonly complete: boolean; readonly startedAt: string } | null;
  /** Whether a full sync is due and waits for those of other tenants, as its process reports it. */
  readonly isWaiting: boolean;
  /** The sync that runs now, as its process reports it; null: none, or unknown. */
  readonly running: RunningSync | null;
  readonly withheld: number;
  /** Unreadable rows in the last complete full sync, or in a sync since. */
  readonly rejected: number;
  /** Rows that the last full sync found and incremental syncs had missed. */
  readonly rowsLate: number;
  /** Whether no incremental sync had ever brought a row by then. */
  readonly isFilterMute: boolean;
  /** Schema ids that the registry has lost, and under which records stand: nobody can read them. */
  readonly lostSchemas: readonly number[];
  readonly late: Lateness | null;
}

/** What is late, and since when, in words. */
interface Lateness {
  readonly part: 'full' | 'watermark';
  readonly why: string;
}

/** Time that a full sync may take before it counts as late. */
const FULL_GRACE_MS = 3 * 3_600_000;
/** Incremental syncs without the hub's clock reach back an hour (core/watermark). */
const LARGEST_USUAL_OVERLAP_MS = 3_600_000;
const SYNCS_MISSED = 10;
const WATERMARK_GRACE_MS = 10 * 60_000;

/** The status of a collection, from the facts. */
export function collectionStatus(facts: CollectionFacts, tenant: TenantFacts): CollectionStatus {
  const { collection, progress, rowsInKafka, rowsAtHub, rowsLate, isFilterMute, hasIncremental } = facts;
  const { isWaiting, running } = facts;
  const full = progress?.lastCompleteFull ?? null;
  const { derivedFrom } = collectionNamed(collection);
  const isNotOffered = tenant.notOffered.includes(derivedFrom ?? collection);
  const mayBeLate = derivedFrom === null && !isNotOffered;
  return {
    collection,
    derivedFrom,
    isNotOffered,
    rows: full?.rows ?? null,
    nameless: full !== null && full.rowsNotFound > 0 ? full.rowsWithoutId : 0,
    rowsInKafka,
    rowsAtHub,
    lastCompleteFull: isoOrNull(full?.startedAtMs ?? null),
    watermark: isoOrNull(progress?.watermarkMs ?? null),
    hasIncremental,
    sync: progress && {
      mode: progress.mode,
      complete: progress.complete,
      startedAt: new Date(progress.startedAtMs).toISOString(),
    },
    isWaiting,
    running,
    withheld: mayBeLate ? withheldOf(facts, tenant) : 0,
    rejected: mayBeLate ? Math.max(full?.rowsRejected ?? 0, progress?.rowsRejected ?? 0) : 0,
    rowsLate,
    isFilterMute,
    lostSchemas: lostSchemaIds(progress),
    late: mayBeLate ? lateness(facts, tenant) : null,
  };
}

/** The log counts them, and the hold of the collection or of another one says whether the number still holds. */
function withheldOf({ collection, progress }: CollectionFacts, { collections }: TenantFacts): number {
  const held = collections.map((each) => ({
    collection: each.collection,
    heldSinceMs: each.progress?.deletions?.heldSinceMs ?? null,
  }));
  const isHeld = progress?.deletions?.heldSinceMs != null || isOtherHeld(collection, held);
  return isHeld ? (progress?.rowsWithheld ?? 0) : 0;
}

function lateness(facts: CollectionFacts, tenant: TenantFacts): Lateness | null {
  const { progress, fullPull, hasIncremental } = facts;
  // Progress has the hub's time.
  const nowMs = tenant.nowMs + (tenant.hubSkewMs ?? 0);
  if (progress === null || progress.lastCompleteFull === null) return null;
  const dueMs = lastFullPullDue(fullPull, nowMs - FULL_GRACE_MS);
  if (progress.lastCompleteFull.startedAtMs < dueMs) {
    const waits = facts.isWaiting ? ', and waits for its turn' : '';
    return { part: 'full', why: `its daily full sync was due ${formatDuration(nowMs - dueMs)} ago${waits}` };
  }
  if (!hasIncremental || progress.watermarkMs === null) return null;
  const behindMs = nowMs - progress.watermarkMs;
  // While a sync is not complete, the overlap of the one before is unknown, so the largest usual one counts.
  const usedMs = progress.complete ? progress.startedAtMs - progress.watermarkMs : LARGEST_USUAL_OVERLAP_MS;
  const overlapMs = Math.max(tenant.deltaOverlapMs, Math.min(usedMs, LARGEST_USUAL_OVERLAP_MS));
  if (behindMs <= overlapMs + Math.max(WATERMARK_GRACE_MS, SYNCS_MISSED * facts.deltaEveryMs)) return null;
  return {
    part: 'watermark',
    why: `changes of the last ${formatDuration(behindMs)} are not published`,
  };
}
