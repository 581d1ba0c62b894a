import { lastFullPullDue, type FullPullTime } from '../../core/full-pull-time.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { PassMode, Progress } from '../../model/progress.ts';
import { countOf, formatDuration } from '../words.ts';

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
}

export interface TenantFacts {
  readonly tenant: string;
  readonly deltaOverlapMs: number;
  readonly collections: readonly CollectionFacts[];
  /** The last that took the tenant over, as the log tells it. */
  readonly owner: { readonly owner: string; readonly ownedSinceMs: number } | null;
  /** Whether a process gives signs of life; null when that cannot be told. */
  readonly isOwnerAlive: boolean | null;
  readonly nowMs: number;
}

/**
 * - `needs-person`: deletions are withheld
 * - `not-mirrored`: nothing was ever committed
 * - `loading`: not every collection has been read whole
 * - `late`: something is older than the configuration promises
 * - `well`
 */
export type TenantState = 'needs-person' | 'not-mirrored' | 'loading' | 'late' | 'well';

export interface CollectionStatus {
  readonly collection: CollectionName;
  /** Rows as of the last complete full pass. */
  readonly rows: number | null;
  readonly lastCompleteFullMs: number | null;
  readonly watermarkMs: number | null;
  readonly pass: {
    readonly mode: PassMode;
    readonly complete: boolean;
    readonly startedAtMs: number;
    readonly seen: number;
    readonly published: number;
    readonly rejected: number;
    readonly removed: number;
  } | null;
  readonly withheld: number;
  /** Rows that could not be read in the last complete full pass, or in a pass since. */
  readonly rejected: number;
  /** What is late, in words; null when nothing is. */
  readonly late: string | null;
}

export interface TenantStatus {
  readonly tenant: string;
  readonly state: TenantState;
  readonly headline: string;
  readonly owner: TenantFacts['owner'];
  readonly isOwnerAlive: boolean | null;
  readonly collections: readonly CollectionStatus[];
}

/** A full pass may take its time before it counts as late. */
const FULL_GRACE_MS = 3 * 3_600_000;
/** Passes without a clock of the hub's reach back an hour (core/watermark). */
const LARGEST_USUAL_OVERLAP_MS = 3_600_000;
const DELTAS_MISSED = 10;

export function tenantStatus(facts: TenantFacts): TenantStatus {
  const collections = facts.collections.map((each) => collectionStatus(each, facts));
  const { state, headline } = judge(facts, collections);
  const { tenant, owner, isOwnerAlive } = facts;
  return { tenant, state, headline, owner, isOwnerAlive, collections };
}

function collectionStatus(facts: CollectionFacts, tenant: TenantFacts): CollectionStatus {
  const { progress } = facts;
  const full = progress?.lastCompleteFull ?? null;
  return {
    collection: facts.collection,
    rows: full?.rows ?? null,
    lastCompleteFullMs: full?.startedAtMs ?? null,
    watermarkMs: progress?.watermarkMs ?? null,
    pass:
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
    // The index is asked first: what a person has released since the pass is no longer in it.
    withheld: facts.withheldInIndex ?? full?.rowsWithheld ?? 0,
    rejected: Math.max(full?.rowsRejected ?? 0, progress?.rowsRejected ?? 0),
    late: lateness(facts, tenant),
  };
}

function lateness(facts: CollectionFacts, { deltaOverlapMs, nowMs }: TenantFacts): string | null {
  const { progress, fullPull, hasDelta, deltaEveryMs } = facts;
  const full = progress?.lastCompleteFull ?? null;
  if (progress === null || full === null) return null;
  const dueMs = lastFullPullDue(fullPull, nowMs - FULL_GRACE_MS);
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
  const withheld = collections.filter((each) => each.withheld > 0);
  if (withheld.length > 0) {
    const count = withheld.reduce((sum, each) => sum + each.withheld, 0);
    const where = named(withheld.map(({ collection }) => collection));
    const verb = count === 1 ? 'is' : 'are';
    return {
      state: 'needs-person',
      headline: `needs a person: ${countOf(count, 'deletion')} ${verb} withheld in ${where}`,
    };
  }
  if (collections.every(({ pass }) => pass === null)) {
    return { state: 'not-mirrored', headline: 'not mirrored yet' };
  }
  const suffix = facts.isOwnerAlive === false ? '; no process is running' : '';
  const incomplete = collections.filter(({ lastCompleteFullMs }) => lastCompleteFullMs === null);
  if (incomplete.length > 0) {
    const done = collections.length - incomplete.length;
    const which = named(incomplete.map(({ collection }) => collection));
    return {
      state: 'loading',
      headline: `first load: ${done} of ${collections.length} collections are whole, not yet ${which}${suffix}`,
    };
  }
  const late = collections.find((each) => each.late !== null);
  if (late !== undefined) {
    const count = collections.filter((each) => each.late !== null).length;
    const others = count === 1 ? '' : ` (and ${countOf(count - 1, 'other')})`;
    return { state: 'late', headline: `late: ${late.collection}: ${late.late}${others}${suffix}` };
  }
  return { state: 'well', headline: `all well${suffix}` };
}

function named(names: readonly string[]): string {
  if (names.length <= MOST_NAMED) return names.join(', ');
  return `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`;
}
