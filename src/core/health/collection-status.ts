import { isOtherHeld } from '../deletions/waiting-list.ts';
import { lastFullPullDue } from '../full-pull-time.ts';
import { collectionNamed, type CollectionName } from '../../model/collections.ts';
import { lostSchemaIds, type SyncMode } from '../../model/progress.ts';
import type { LateRows } from '../late-rows.ts';
import { formatDuration } from '../words.ts';
import type { CollectionFacts, RunningSync, TenantFacts } from './tenant-facts.ts';

export interface CollectionStatus {
  readonly collection: CollectionName;
  /** The source of a derived collection, whose status alone has the troubles of both; null for most. */
  readonly derivedFrom: CollectionName | null;
  /** The hub does not offer the collection, or its source. */
  readonly isNotOffered: boolean;
  /** Number of rows in the last complete full sync. */
  readonly rows: number | null;
  readonly rowsInKafka: number | null;
  readonly rowsAtHub: number | null;
  readonly lastCompleteFullMs: number | null;
  readonly watermarkMs: number | null;
  /** Whether incremental syncs move the watermark; otherwise only a full sync does. */
  readonly hasIncremental: boolean;
  readonly sync: {
    readonly mode: SyncMode;
    readonly complete: boolean;
    readonly startedAtMs: number;
    readonly seen: number;
    readonly published: number;
    readonly rejected: number;
    readonly removed: number;
  } | null;
  /** The sync that runs now, as its process reports it; null: none, or unknown. */
  readonly running: RunningSync | null;
  readonly withheld: number;
  /** Schema ids that the registry has lost, and under which records stand: nobody can read them. */
  readonly lostSchemas: readonly number[];
  /** Unreadable rows in the last complete full sync, or in a sync since. */
  readonly rejected: number;
  /** Rows that incremental syncs missed: `deltaOverlap` is too small, or the hub's filter selects nothing; null: none. */
  readonly lateRows: LateRows | null;
  /** What is late, in words; null when nothing is. */
  readonly late: string | null;
  /** What is late: the daily full sync, or the watermark; null when nothing is. */
  readonly lateBy: 'full' | 'watermark' | null;
  /** The last sync is not complete, and no process continues it: it failed, was inconclusive, or was interrupted. */
  readonly unfinished: boolean;
}

/** Time that a full sync may take before it counts as late. */
const FULL_GRACE_MS = 3 * 3_600_000;
/** Incremental syncs without the hub's clock reach back an hour (core/watermark). */
const LARGEST_USUAL_OVERLAP_MS = 3_600_000;
const SYNCS_MISSED = 10;
const WATERMARK_GRACE_MS = 10 * 60_000;
/** A running sync commits far more often. */
const SYNC_SILENT_MS = 10 * 60_000;

/** The status of a collection, from the facts. */
export function collectionStatus(facts: CollectionFacts, tenant: TenantFacts): CollectionStatus {
  const { progress } = facts;
  const full = progress?.lastCompleteFull ?? null;
  const { derivedFrom } = collectionNamed(facts.collection);
  const isNotOffered = tenant.notOffered.includes(derivedFrom ?? facts.collection);
  return {
    collection: facts.collection,
    derivedFrom,
    isNotOffered,
    lateRows: facts.lateRows?.rows ? facts.lateRows : null,
    rowsInKafka: facts.rowsInKafka,
    rowsAtHub: facts.rowsAtHub,
    rows: full?.rows ?? null,
    lastCompleteFullMs: full?.startedAtMs ?? null,
    watermarkMs: progress?.watermarkMs ?? null,
    hasIncremental: facts.hasIncremental,
    running: facts.running,
    lostSchemas: lostSchemaIds(progress),
    sync:
      progress === null
        ? null
        : {
            mode: progress.mode,
            complete: progress.complete,
            startedAtMs: progress.startedAtMs,
            seen: progress.rowsSeen,
            published: progress.rowsPublished,
            rejected: progress.rowsRejected,
            removed: progress.rowsRemoved,
          },
    ...(derivedFrom === null && !isNotOffered
      ? {
          withheld: withheldOf(facts, tenant),
          rejected: Math.max(full?.rowsRejected ?? 0, progress?.rowsRejected ?? 0),
          ...lateness(facts, tenant),
          unfinished: isUnfinished(facts, tenant),
        }
      : { withheld: 0, rejected: 0, late: null, lateBy: null, unfinished: false }),
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

function isUnfinished(
  { progress, committedAtMs }: CollectionFacts,
  { isOwnerAlive, nowMs }: TenantFacts,
): boolean {
  if (progress === null || progress.complete) return false;
  if (isOwnerAlive === false) return true;
  return nowMs - (committedAtMs ?? progress.startedAtMs) > SYNC_SILENT_MS;
}

function lateness(facts: CollectionFacts, tenant: TenantFacts): Pick<CollectionStatus, 'late' | 'lateBy'> {
  const { progress, fullPull, hasIncremental } = facts;
  // Progress has the hub's time.
  const nowMs = tenant.nowMs + (tenant.hubSkewMs ?? 0);
  const full = progress?.lastCompleteFull ?? null;
  if (progress === null || full === null) return { late: null, lateBy: null };
  const dueMs = lastFullPullDue(fullPull, nowMs - FULL_GRACE_MS);
  if (full.startedAtMs < dueMs) {
    return { late: `its daily full sync was due ${formatDuration(nowMs - dueMs)} ago`, lateBy: 'full' };
  }
  if (!hasIncremental || progress.watermarkMs === null) return { late: null, lateBy: null };
  const behindMs = nowMs - progress.watermarkMs;
  return behindMs > watermarkMayAge(facts, tenant)
    ? { late: `changes of the last ${formatDuration(behindMs)} are not published`, lateBy: 'watermark' }
    : { late: null, lateBy: null };
}

/**
 * How old a watermark may be, ms: its overlap, and the time in which several incremental syncs were due. While a sync is
 * not complete, the overlap of the one before is unknown, so the largest usual one counts.
 */
function watermarkMayAge(
  { progress, deltaEveryMs }: CollectionFacts,
  { deltaOverlapMs }: Pick<TenantFacts, 'deltaOverlapMs'>,
): number {
  const isKnown = progress !== null && progress.complete && progress.watermarkMs !== null;
  const usedMs = isKnown ? progress.startedAtMs - (progress.watermarkMs ?? 0) : LARGEST_USUAL_OVERLAP_MS;
  const overlapMs = Math.max(deltaOverlapMs, Math.min(usedMs, LARGEST_USUAL_OVERLAP_MS));
  return overlapMs + Math.max(WATERMARK_GRACE_MS, SYNCS_MISSED * deltaEveryMs);
}
