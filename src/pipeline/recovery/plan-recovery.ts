import { planIndexRecovery, type IndexRecoveryPlan } from '../../core/index-recovery.ts';
import { CHAIN_COLLECTIONS, type CollectionName } from '../../model/collections.ts';
import { allOffsets, isFirstLoadOver, isStateMark, type Progress } from '../../model/progress.ts';
import type { Ownership, TenantLog } from '../../log/log.ts';
import type { IndexPosition, TenantState } from '../../state/index-store.ts';
import type { ChainImportParts } from '../chains/chain-import.ts';
import type { TopicEnds } from '../topic-ends.ts';
import {
  recordTopicLosses,
  withoutChangelog,
  type DerivedProgress,
  type TopicLossParts,
} from './topic-losses.ts';
import type { Runtime } from '../tenant-parts.ts';

export interface RecoveryPlanParts extends TopicLossParts {
  readonly log: TenantLog;
  readonly state: TenantState;
  readonly runtime: Runtime;
  /** Undefined if absences and their changes are not mirrored. */
  readonly chains?: Pick<ChainImportParts, 'decode' | 'reader' | 'absentSinceMs'> | undefined;
}

/** The state of a collection in log and index, after lost records are withdrawn, and the planned recovery. */
export interface Recovery {
  readonly collection: CollectionName;
  readonly progress: Progress | null;
  readonly derived: DerivedProgress;
  readonly position: IndexPosition | null;
  readonly plan: IndexRecoveryPlan;
  /** Whether `absence-state` holds the complete chain index, as the mapping in force makes it. */
  readonly isChangelogComplete: boolean;
  /** Whether all absences were published at least once; null if `progress` does not show it. */
  readonly wasFirstLoadOver: boolean | null;
}

/** Records the losses of a collection's topics, and plans its recovery. */
export async function planRecovery(
  parts: RecoveryPlanParts,
  options: { collection: CollectionName; ownership: Ownership; ends: TopicEnds; signal: AbortSignal },
): Promise<Recovery> {
  const { collection, ownership, ends, signal } = options;
  const logged = ownership.progress.get(collection) ?? null;
  const derivedLogged = derivedOf(parts, collection, ownership);
  const position = await parts.state.collection(collection).position();
  const { progress, derived, hasLost } = await recordTopicLosses(parts, {
    progress: derivedLogged.size > 0 || logged === null ? logged : withoutChangelog(logged),
    derived: derivedLogged,
    ends,
    position,
    recordedAtMs: ownership.recordedAtMs.get(collection) ?? null,
    signal,
  });
  const isApart = [...derived.values()].some((each) => each?.transactionId !== progress?.transactionId);
  const hasState = isStateMark(progress?.absenceState, parts.chains?.reader.mapping);
  const known = { collection, progress, derived, position };
  const isChangelogComplete = derived.size > 0 && !hasLost && !isApart && hasState;
  return {
    ...known,
    isChangelogComplete,
    wasFirstLoadOver: wasFirstLoadOver(ownership, { derived, hasLost }),
    plan: planOf(parts, ownership, { ...known, hasLost, isApart, isChangelogComplete }),
  };
}

function planOf(
  parts: RecoveryPlanParts,
  ownership: Ownership,
  known: Pick<Recovery, 'collection' | 'progress' | 'derived' | 'position' | 'isChangelogComplete'> & {
    hasLost: boolean;
    isApart: boolean;
  },
): IndexRecoveryPlan {
  const { collection, progress, derived, position } = known;
  if (known.hasLost) return rebuildBecause('a topic was deleted, recreated or cut off');
  if (ownership.unreadable?.has(collection) === true)
    return rebuildBecause('its newest record in progress cannot be decoded');
  if (known.isApart) return rebuildBecause('absences were not mirrored for some time');
  if (derived.size > 0 && isOfAnotherMapping(parts, progress, position))
    return rebuildBecause('`drop` or `pseudonymise` was changed');
  if (known.isChangelogComplete && position !== null && position.absenceState !== progress?.absenceState)
    return rebuildBecause('the index was not made from the changelog of absences');
  const plan = planIndexRecovery({
    // The index is at the end of all of its topics.
    progress:
      progress === null ? null : { ...progress, offsets: allOffsets([progress, ...derived.values()]) },
    index: position,
    transactionIds: commonIds(ownership, [collection, ...derived.keys()]),
    nowMs: parts.runtime.now(),
  });
  const isCutOff = plan.kind === 'resume' && derived.size > 0 && !known.isChangelogComplete;
  return isCutOff ? rebuildBecause('the changelog of absences is not complete') : plan;
}

/**
 * The chain index identifies students as the mapping shows them. A process with another mapping may have rebuilt the
 * index and committed nothing, so the index itself names its mapping.
 */
function isOfAnotherMapping(
  { chains }: RecoveryPlanParts,
  progress: Progress | null,
  index: IndexPosition | null,
): boolean {
  if (progress === null) return false;
  const indexed = index?.mapping === undefined ? progress.mapping : index.mapping;
  return (indexed ?? null) !== (chains?.reader.mapping ?? null);
}

function rebuildBecause(why: string): IndexRecoveryPlan {
  return { kind: 'rebuild', why };
}

/**
 * Transactions that covered all of these collections: an index from a time when one was not mirrored lacks its records.
 */
function commonIds({ transactionIds }: Ownership, collections: readonly CollectionName[]): Set<string> {
  const [first = new Set<string>(), ...others] = collections.map((name) => new Set(transactionIds.get(name)));
  return others.reduce((common, ids) => common.intersection(ids), first);
}

/** The progress of the collections derived from one; empty for most. */
function derivedOf(
  { chains }: RecoveryPlanParts,
  collection: CollectionName,
  ownership: Ownership,
): DerivedProgress {
  if (chains === undefined || collection !== 'absence-versions') return new Map();
  return new Map(CHAIN_COLLECTIONS.map((name) => [name, ownership.progress.get(name) ?? null]));
}

function wasFirstLoadOver(
  { progress, loadedBefore }: Ownership,
  now: { derived: DerivedProgress; hasLost: boolean },
): boolean | null {
  const logged = now.derived.get('absence-changes') ?? null;
  if (logged !== null && progress.has('absence-changes')) return isFirstLoadOver(logged);
  return !now.hasLost && loadedBefore?.has('absence-changes') === true ? true : null;
}
