import { explainShort, removalsWait, SHORT_REMEDY } from '../deletions/evidence.ts';
import { isOtherOnHold } from '../deletions/waiting-list.ts';
import { lastDailyTime } from '../daily-time.ts';
import { collectionNamed, type CollectionName } from '../../model/collections.ts';
import { lostSchemaIds, type SyncMode } from '../../model/progress.ts';
import { formatDuration, isoOrNull, outOf } from '../words.ts';
import type { CollectionFacts, NotReady, TenantFacts } from './tenant-facts.ts';

/** The facts of a collection that are shown as they are. */
type ShownFacts = Omit<
  CollectionFacts,
  'progress' | 'rejectsNow' | 'failing' | 'incrementalEveryMs' | 'fullSync'
>;

/** As `/status.json` gives it; times are ISO 8601. */
export interface CollectionStatus extends ShownFacts {
  /** For a derived collection: its source, whose status also has the troubles of the derived collection. Otherwise null. */
  readonly derivedFrom: CollectionName | null;
  /** The hub does not offer the collection, or its source. */
  readonly isNotOffered: boolean;
  /** When the last complete full sync began, and the keys of the topic that it found at the hub. */
  readonly lastCompleteFull: string | null;
  readonly rowsThen: number | null;
  readonly watermark: string | null;
  readonly sync: { readonly mode: SyncMode; readonly complete: boolean; readonly startedAt: string } | null;
  readonly rowsOnHold: number;
  /**
   * Number of unreadable rows. While no session counts them, this is the number of the last complete full sync, or that
   * of the last sync if it is higher.
   */
  readonly rejected: number;
  /** Schema ids that published records name, and that the registry has lost: nobody can read these records. */
  readonly lostSchemas: readonly number[];
  /** Rows that the hub counted and did not return in the last full sync. */
  readonly rowsShort: number;
  readonly late: NotReady | null;
  /**
   * Why the collection is in trouble: its syncs fail, the hub does not return all of its rows, or many rows cannot be
   * read.
   */
  readonly trouble: NotReady | null;
}

/** Rejects are trouble only if they exceed both this number and this share of the rows. */
const FEW_REJECTS = 10;
const SMALL_SHARE = 0.05;

/** Time that a full sync may take before it counts as late. */
const FULL_GRACE_MS = 3 * 3_600_000;
/** Incremental syncs without the hub's clock reach back an hour (core/watermark). */
const LARGEST_USUAL_OVERLAP_MS = 3_600_000;
const SYNCS_MISSED = 10;
const WATERMARK_GRACE_MS = 10 * 60_000;

/** The status of a collection, from the facts. */
export function collectionStatus(facts: CollectionFacts, tenant: TenantFacts): CollectionStatus {
  const {
    progress,
    rejectsNow,
    failing: _failing,
    incrementalEveryMs: _every,
    fullSync: _at,
    ...shown
  } = facts;
  const { collection } = shown;
  const full = progress?.lastCompleteFull ?? null;
  const { derivedFrom } = collectionNamed(collection);
  const isNotOffered = tenant.notOffered.includes(derivedFrom ?? collection);
  const isSynced = derivedFrom === null && !isNotOffered;
  const short = progress?.deletions?.short ?? null;
  const nameless = full !== null && full.rowsNotFound > 0 ? full.rowsWithoutId : 0;
  const wait = short?.isCovered === false ? null : removalsWait(nameless, short);
  const rejectedInSyncs = Math.max(full?.rowsRejected ?? 0, progress?.rowsRejected ?? 0);
  const rejected = isSynced ? (rejectsNow ?? rejectedInSyncs) : 0;
  return {
    ...shown,
    derivedFrom,
    isNotOffered,
    lastCompleteFull: isoOrNull(full?.startedAtMs ?? null),
    rowsThen: full?.rows ?? null,
    watermark: isoOrNull(progress?.watermarkMs ?? null),
    sync: progress && {
      mode: progress.mode,
      complete: progress.complete,
      startedAt: new Date(progress.startedAtMs).toISOString(),
    },
    rowsOnHold: isSynced ? rowsOnHoldOf(facts, tenant) : 0,
    rejected,
    lostSchemas: lostSchemaIds(progress),
    rowsShort: short === null ? 0 : short.total - short.rows,
    late: isSynced ? (lateness(facts, tenant) ?? (wait && { part: 'removals', ...wait })) : null,
    trouble: isSynced ? troubleOf(facts, tenant, rejected) : null,
  };
}

function troubleOf(facts: CollectionFacts, { tenant }: TenantFacts, rejected: number): NotReady | null {
  const { collection, failing, progress } = facts;
  const short = progress?.deletions?.short ?? null;
  if (failing !== null) return { part: 'collection', ...failing };
  if (short?.isCovered === false) {
    const why = `the hub counts more rows than it returns: ${explainShort(short)}`;
    return { part: 'short', why, remedy: SHORT_REMEDY };
  }
  const full = progress?.lastCompleteFull;
  if (!full || rejected <= FEW_REJECTS) return null;
  const rows = Math.max(rejected, full.rows + full.rowsRejected);
  if (rejected <= rows * SMALL_SHARE) return null;
  return {
    part: 'rejects',
    why: `${outOf(rejected, rows)} rows cannot be read`,
    remedy:
      `Their last published values stay. "rollcall tail rejects --tenant ${tenant} --to-end --values" shows why: tell the people who run the hub. ` +
      `Once these rows are corrected, "rollcall pull --full --collection ${collection} --tenant ${tenant}" counts them again.`,
  };
}

/** The log has the number. It is out of date if neither the collection nor another one is on hold. */
function rowsOnHoldOf({ collection, progress }: CollectionFacts, { collections }: TenantFacts): number {
  const onHold = collections.flatMap((each) =>
    each.progress?.deletions?.onHoldSinceMs == null ? [] : [each.collection],
  );
  if (!onHold.includes(collection) && !isOtherOnHold(collection, onHold)) return 0;
  return progress?.rowsOnHold ?? 0;
}

const LATE_REMEDY = 'The log says why the syncs fail. To read the hub again at once, run "rollcall pull".';

/** The times in `progress` are by the hub's clock. */
const hubNowMsOf = ({ nowMs, hubSkewMs = 0 }: TenantFacts): number => nowMs + hubSkewMs;

function lateness(facts: CollectionFacts, tenant: TenantFacts): NotReady | null {
  const { progress, fullSync, hasIncremental } = facts;
  const nowMs = hubNowMsOf(tenant);
  if (progress === null || progress.lastCompleteFull === null) return null;
  const dueMs = lastDailyTime(fullSync, nowMs - FULL_GRACE_MS);
  if (progress.lastCompleteFull.startedAtMs < dueMs) {
    const waits = facts.isWaiting ? ', and waits for its turn' : '';
    const why = `its daily full sync was due ${formatDuration(nowMs - dueMs)} ago${waits}`;
    return { part: 'full', why, remedy: LATE_REMEDY };
  }
  if (!hasIncremental || progress.watermarkMs === null) return null;
  const behindMs = nowMs - progress.watermarkMs;
  // The overlap in use is known only from a complete sync. Otherwise the largest usual overlap counts.
  const usedMs = progress.complete ? progress.startedAtMs - progress.watermarkMs : LARGEST_USUAL_OVERLAP_MS;
  const overlapMs = Math.max(tenant.incrementalOverlapMs, Math.min(usedMs, LARGEST_USUAL_OVERLAP_MS));
  if (behindMs <= overlapMs + Math.max(WATERMARK_GRACE_MS, SYNCS_MISSED * facts.incrementalEveryMs))
    return null;
  const why = `changes of the last ${formatDuration(behindMs)} are not published`;
  return { part: 'watermark', why, remedy: LATE_REMEDY };
}
