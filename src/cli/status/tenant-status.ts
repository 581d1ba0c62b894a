import { lastFullPullDue, type FullPullTime } from '../../core/full-pull-time.ts';
import { collectionNamed, type CollectionName } from '../../model/collections.ts';
import type { SyncMode, Progress } from '../../model/progress.ts';
import type { LateNote } from '../../state/index-store.ts';
import { countOf, formatDuration } from '../words.ts';
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

/**
 * - `needs-person`: deletions are withheld, or the hub returns another tenant's rows
 * - `not-mirrored`: nothing is committed
 * - `loading`: not every collection has had a complete full sync
 * - `unfinished`: the last sync of a collection is not complete, and no process continues it
 * - `late`: a collection is older than the configuration promises
 * - `well`
 */
export type TenantState = 'needs-person' | 'not-mirrored' | 'loading' | 'unfinished' | 'late' | 'well';

export interface CollectionStatus {
  readonly collection: CollectionName;
  /** The source of a derived collection, whose status alone has the troubles of both; null for most. */
  readonly derivedFrom: CollectionName | null;
  /** The hub does not offer the collection, or its source. */
  readonly isNotOffered: boolean;
  /** Number of rows in the last complete full sync. */
  readonly rows: number | null;
  readonly lastCompleteFullMs: number | null;
  readonly watermarkMs: number | null;
  readonly sync: {
    readonly mode: SyncMode;
    readonly complete: boolean;
    readonly startedAtMs: number;
    readonly seen: number;
    readonly published: number;
    readonly rejected: number;
    readonly removed: number;
  } | null;
  readonly withheld: number;
  /** Source of `withheld`: when the index has lost the list, the log still has the number. */
  readonly withheldBy: 'index' | 'log';
  /** Unreadable rows in the last complete full sync, or in a sync since. */
  readonly rejected: number;
  /** Rows that incremental syncs missed because `deltaOverlap` is too small; null when it is not, or was raised since. */
  readonly lateRows: LateNote | null;
  /** What is late, in words; null when nothing is. */
  readonly late: string | null;
  /** The last sync is not complete, and no process continues it: it failed, was inconclusive, or was interrupted. */
  readonly unfinished: boolean;
}

export interface TenantStatus {
  readonly tenant: string;
  readonly state: TenantState;
  readonly headline: string;
  readonly owner: TenantFacts['owner'];
  readonly isOwnerAlive: boolean | null;
  readonly collections: readonly CollectionStatus[];
  readonly wrongTenant: TenantFacts['wrongTenant'];
  readonly contradictions: KnownContradictions | null;
}

/** Time that a full sync may take before it counts as late. */
const FULL_GRACE_MS = 3 * 3_600_000;
/** A full sync of schedules spreads its requests over a day, and is complete a day after it began. */
const SCHEDULES_SYNC_MS = 24 * 3_600_000;
/** Incremental syncs without the hub's clock reach back an hour (core/watermark). */
const LARGEST_USUAL_OVERLAP_MS = 3_600_000;
const DELTAS_MISSED = 10;
/** A running sync commits far more often. */
const SYNC_SILENT_MS = 10 * 60_000;

export function tenantStatus(facts: TenantFacts): TenantStatus {
  const collections = facts.collections.map((each) => collectionStatus(each, facts));
  const { state, headline } = judge(facts, collections);
  const { tenant, owner, isOwnerAlive, wrongTenant, contradictions } = facts;
  return { tenant, state, headline, owner, isOwnerAlive, collections, wrongTenant, contradictions };
}

function collectionStatus(facts: CollectionFacts, tenant: TenantFacts): CollectionStatus {
  const { progress } = facts;
  const full = progress?.lastCompleteFull ?? null;
  const { derivedFrom } = collectionNamed(facts.collection);
  const isNotOffered = tenant.notOffered.includes(derivedFrom ?? facts.collection);
  return {
    collection: facts.collection,
    derivedFrom,
    isNotOffered,
    lateRows: isOverlapTooSmall(facts.lateRows, tenant) ? facts.lateRows : null,
    rows: full?.rows ?? null,
    lastCompleteFullMs: full?.startedAtMs ?? null,
    watermarkMs: progress?.watermarkMs ?? null,
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
    ...(derivedFrom === null && !isNotOffered ? troublesOf(facts, tenant) : NO_TROUBLES),
  };
}

function isOverlapTooSmall(late: LateNote | null, { deltaOverlapMs }: TenantFacts): boolean {
  return late !== null && late.rows > 0 && deltaOverlapMs <= late.overlapMs;
}

type Troubles = Pick<CollectionStatus, 'withheld' | 'withheldBy' | 'rejected' | 'late' | 'unfinished'>;

const NO_TROUBLES: Troubles = {
  withheld: 0,
  withheldBy: 'index',
  rejected: 0,
  late: null,
  unfinished: false,
};

function troublesOf(facts: CollectionFacts, tenant: TenantFacts): Troubles {
  const { progress } = facts;
  return {
    ...withheldOf(facts),
    rejected: Math.max(progress?.lastCompleteFull?.rowsRejected ?? 0, progress?.rowsRejected ?? 0),
    late: lateness(facts, tenant),
    unfinished: isUnfinished(facts, tenant),
  };
}

/** An index without withheld keys may have been emptied: the number in the log then counts until the next full sync. */
function withheldOf({ progress, withheldInIndex, settledPassId }: CollectionFacts): {
  withheld: number;
  withheldBy: 'index' | 'log';
} {
  const full = progress?.lastCompleteFull ?? null;
  const isDiscarded = full !== null && full.passId === settledPassId;
  if (withheldInIndex === 0 && isDiscarded) return { withheld: 0, withheldBy: 'index' };
  const inLog = Math.max(progress?.rowsWithheld ?? 0, progress?.lastCompleteFull?.rowsWithheld ?? 0);
  if (withheldInIndex === null || (withheldInIndex === 0 && inLog > 0)) {
    return { withheld: inLog, withheldBy: 'log' };
  }
  return { withheld: withheldInIndex, withheldBy: 'index' };
}

function isUnfinished(
  { progress, committedAtMs }: CollectionFacts,
  { isOwnerAlive, nowMs }: TenantFacts,
): boolean {
  if (progress === null || progress.complete) return false;
  if (isOwnerAlive === false) return true;
  return nowMs - (committedAtMs ?? progress.startedAtMs) > SYNC_SILENT_MS;
}

function lateness(facts: CollectionFacts, { deltaOverlapMs, nowMs }: TenantFacts): string | null {
  const { progress, fullPull, hasDelta, deltaEveryMs } = facts;
  const full = progress?.lastCompleteFull ?? null;
  if (progress === null || full === null) return null;
  const graceMs = FULL_GRACE_MS + (facts.collection === 'schedules' ? SCHEDULES_SYNC_MS : 0);
  const dueMs = lastFullPullDue(fullPull, nowMs - graceMs);
  if (full.startedAtMs < dueMs) {
    return `its daily full sync was due ${formatDuration(nowMs - dueMs)} ago`;
  }
  if (!hasDelta || progress.watermarkMs === null) return null;
  const behindMs = nowMs - progress.watermarkMs;
  const allowedMs = Math.max(deltaOverlapMs, LARGEST_USUAL_OVERLAP_MS) + DELTAS_MISSED * deltaEveryMs;
  return behindMs > allowedMs ? `changes of the last ${formatDuration(behindMs)} are not published` : null;
}

const MOST_NAMED = 3;

function judge(
  facts: TenantFacts,
  collections: readonly CollectionStatus[],
): { state: TenantState; headline: string } {
  const suffix = facts.isOwnerAlive === false ? '; no process is running' : '';
  const { notOffered } = facts;
  const missing = notOffered.length === 0 ? '' : `; the hub does not offer ${named([...notOffered])}`;
  if (facts.wrongTenant.length > 0) {
    const which = named([...facts.wrongTenant]);
    const headline = `needs a decision: nothing is published, as almost none of the rows that the hub returns for ${which} match the published ones`;
    return { state: 'needs-person', headline };
  }
  if (collections.some(({ withheld }) => withheld > 0)) {
    return { state: 'needs-person', headline: withheldHeadline(collections) };
  }
  if (collections.every(({ sync }) => sync === null)) {
    return { state: 'not-mirrored', headline: notMirrored(facts, collections, suffix) };
  }
  const { expected, incomplete } = completenessCell(collections);
  if (incomplete.length > 0) {
    const done = expected - incomplete.length;
    const which = named(incomplete.map(({ collection }) => collection));
    const stuck = incomplete.some(({ unfinished }) => unfinished) ? '; a last sync did not end' : '';
    return {
      state: 'loading',
      headline: `first load: ${done} of ${expected} collections are complete, not yet ${which}${stuck}${missing}${suffix}`,
    };
  }
  const unfinished = collections.filter((each) => each.unfinished);
  if (unfinished.length > 0) {
    const which = named(unfinished.map(({ collection }) => collection));
    return { state: 'unfinished', headline: `not complete: the last sync of ${which}${suffix}` };
  }
  const late = collections.filter((each) => each.late !== null);
  const [first] = late;
  if (first !== undefined) {
    const others = late.length === 1 ? '' : ` (and ${countOf(late.length - 1, 'other')})`;
    return { state: 'late', headline: `late: ${first.collection}: ${first.late}${others}${suffix}` };
  }
  const rejected = collections.reduce((sum, each) => sum + each.rejected, 0);
  const rejects = rejected === 0 ? '' : `, ${countOf(rejected, 'row')} rejected`;
  const { contradictions } = facts;
  const contradictory =
    contradictions === null || contradictions.absences === 0
      ? ''
      : `, ${contradictoryAbsences(contradictions)}`;
  return { state: 'well', headline: `all well${rejects}${contradictory}${missing}${suffix}` };
}

function notMirrored(
  { owner }: TenantFacts,
  collections: readonly CollectionStatus[],
  suffix: string,
): string {
  if (collections.length > 0 && collections.every(({ isNotOffered }) => isNotOffered)) {
    return `the hub offers none of the collections: check hub.baseUrl${suffix}`;
  }
  return owner === null ? 'not mirrored yet' : `taken over, but nothing is mirrored yet${suffix}`;
}

/**
 * The collections without a complete full sync. A derived collection counts only if its source is complete, as after
 * the derived one was enabled, or its topic was lost.
 */
function completenessCell(collections: readonly CollectionStatus[]): {
  expected: number;
  incomplete: readonly CollectionStatus[];
} {
  const offered = collections.filter(({ isNotOffered }) => !isNotOffered);
  const incomplete = offered.filter(({ lastCompleteFullMs }) => lastCompleteFullMs === null);
  const names = new Set(incomplete.map(({ collection }) => collection));
  const isSourceIncomplete = ({ derivedFrom }: CollectionStatus): boolean =>
    derivedFrom !== null && names.has(derivedFrom);
  return {
    expected: offered.filter((each) => !isSourceIncomplete(each)).length,
    incomplete: incomplete.filter((each) => !isSourceIncomplete(each)),
  };
}

/** `3 contradictory absences`, `at least 5,000 contradictory absences`. */
export function contradictoryAbsences({ absences, isAtLeast }: KnownContradictions): string {
  return `${isAtLeast ? 'at least ' : ''}${countOf(absences, 'contradictory absence')}`;
}

function withheldHeadline(collections: readonly CollectionStatus[]): string {
  const withheld = collections.filter((each) => each.withheld > 0);
  const count = withheld.reduce((sum, each) => sum + each.withheld, 0);
  const where = named(withheld.map(({ collection }) => collection));
  const byLog = withheld.some(({ withheldBy }) => withheldBy === 'log') ? ', by the log' : '';
  return `needs a decision: ${countOf(count, 'deletion')} ${count === 1 ? 'is' : 'are'} withheld in ${where}${byLog}`;
}

function named(names: readonly string[]): string {
  if (names.length <= MOST_NAMED) return names.join(', ');
  return `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`;
}
