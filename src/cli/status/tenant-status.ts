import { lastFullPullDue, type FullPullTime } from '../../core/full-pull-time.ts';
import { collectionNamed, type CollectionName } from '../../model/collections.ts';
import type { SyncMode, Progress } from '../../model/progress.ts';
import type { LateNote } from '../../state/index-store.ts';
import { countOf, formatDuration } from '../words.ts';
import type { KnownContradictions } from './contradictions.ts';

/** What `status` knows of a collection before it judges. */
export interface CollectionFacts {
  readonly collection: CollectionName;
  readonly hasDelta: boolean;
  readonly deltaEveryMs: number;
  readonly fullPull: FullPullTime;
  /** Null: nothing was ever committed. */
  readonly progress: Progress | null;
  /** Keys withheld as the index tells it; null when it cannot be asked. */
  readonly withheldInIndex: number | null;
  /** The full pass whose withheld deletions wait no more, as the index tells it. */
  readonly settledPassId: string | null;
  /** Rows that deltas have missed, as the index remembers; null where nothing is known of it. */
  readonly lateRows: LateNote | null;
  /** When the last record of its progress was committed, as the index tells it; null when it cannot be asked. */
  readonly committedAtMs: number | null;
}

export interface TenantFacts {
  readonly tenant: string;
  readonly deltaOverlapMs: number;
  readonly collections: readonly CollectionFacts[];
  /** The last that took the tenant over, as the log tells it. */
  readonly owner: { readonly owner: string; readonly ownedSinceMs: number } | null;
  /** Whether a process gives signs of life; null when that cannot be told. */
  readonly isOwnerAlive: boolean | null;
  /** Collections that the hub did not offer when it was last asked, as the index remembers. */
  readonly notOffered: readonly string[];
  /** Collections that came with quite other rows than there were, as the index tells it: nothing is published. */
  readonly wrongTenant: readonly string[];
  /** Null where absences are not mirrored, or the index cannot be asked. */
  readonly contradictions: KnownContradictions | null;
  readonly nowMs: number;
}

/**
 * - `needs-person`: deletions are withheld, or the hub gives another tenant's rows
 * - `not-mirrored`: nothing was ever committed
 * - `loading`: not every collection has been read whole
 * - `unfinished`: a last pass did not come to its end, and does not go on
 * - `late`: something is older than the configuration promises
 * - `well`
 */
export type TenantState = 'needs-person' | 'not-mirrored' | 'loading' | 'unfinished' | 'late' | 'well';

export interface CollectionStatus {
  readonly collection: CollectionName;
  /** The collection in whose passes this one's records come: troubles are told there alone; null for most. */
  readonly derivedFrom: CollectionName | null;
  /** The hub does not offer it, or not the collection that it follows from. */
  readonly isNotOffered: boolean;
  /** Rows as of the last complete full pass. */
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
  /** Where that is from: what the index has forgotten, the log still tells, but only how many. */
  readonly withheldBy: 'index' | 'log';
  /** Rows that could not be read in the last complete full pass, or in a pass since. */
  readonly rejected: number;
  /** Rows that deltas have missed because `deltaOverlap` is too small; null where it is not, or was raised since. */
  readonly lateRows: LateNote | null;
  /** What is late, in words; null when nothing is. */
  readonly late: string | null;
  /** The last pass is not complete, and nobody is at it: it failed, was doubted, or was broken off. */
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

/** A full pass may take its time before it counts as late. */
const FULL_GRACE_MS = 3 * 3_600_000;
/** Students are asked for one after the other, all day long: such a pass is complete a day after it began. */
const ROUND_MS = 24 * 3_600_000;
/** Passes without a clock of the hub's reach back an hour (core/watermark). */
const LARGEST_USUAL_OVERLAP_MS = 3_600_000;
const DELTAS_MISSED = 10;
/** A pass under way commits far more often. */
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

/** An index that knows of none may have been emptied: then the log's word counts until a full pass says otherwise. */
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
  const graceMs = FULL_GRACE_MS + (facts.collection === 'schedules' ? ROUND_MS : 0);
  const dueMs = lastFullPullDue(fullPull, nowMs - graceMs);
  if (full.startedAtMs < dueMs) {
    return `its daily full pass was due ${formatDuration(nowMs - dueMs)} ago`;
  }
  if (!hasDelta || progress.watermarkMs === null) return null;
  const behindMs = nowMs - progress.watermarkMs;
  const allowedMs = Math.max(deltaOverlapMs, LARGEST_USUAL_OVERLAP_MS) + DELTAS_MISSED * deltaEveryMs;
  return behindMs > allowedMs ? `changes of the last ${formatDuration(behindMs)} are not in` : null;
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
    const headline = `needs a person: nothing is published, as the hub gives quite other rows for ${which} than there were`;
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
    const stuck = incomplete.some(({ unfinished }) => unfinished)
      ? '; a last pass did not come to its end'
      : '';
    return {
      state: 'loading',
      headline: `first load: ${done} of ${expected} collections are whole, not yet ${which}${stuck}${missing}${suffix}`,
    };
  }
  const unfinished = collections.filter((each) => each.unfinished);
  if (unfinished.length > 0) {
    const which = named(unfinished.map(({ collection }) => collection));
    return { state: 'unfinished', headline: `not complete: the last pass of ${which}${suffix}` };
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
 * Which collections were never read whole. What follows from another one is told only if it alone is lacking, as after
 * it was switched on, or its topic was lost.
 */
function completenessCell(collections: readonly CollectionStatus[]): {
  expected: number;
  incomplete: readonly CollectionStatus[];
} {
  const offered = collections.filter(({ isNotOffered }) => !isNotOffered);
  const incomplete = offered.filter(({ lastCompleteFullMs }) => lastCompleteFullMs === null);
  const names = new Set(incomplete.map(({ collection }) => collection));
  const isToldElsewhere = ({ derivedFrom }: CollectionStatus): boolean =>
    derivedFrom !== null && names.has(derivedFrom);
  return {
    expected: offered.filter((each) => !isToldElsewhere(each)).length,
    incomplete: incomplete.filter((each) => !isToldElsewhere(each)),
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
  return `needs a person: ${countOf(count, 'deletion')} ${count === 1 ? 'is' : 'are'} withheld in ${where}${byLog}`;
}

function named(names: readonly string[]): string {
  if (names.length <= MOST_NAMED) return names.join(', ');
  return `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`;
}
