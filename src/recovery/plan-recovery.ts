import { planIndexRecovery, type IndexRecoveryPlan } from '../core/index-recovery.ts';
import {
  CHAIN_COLLECTIONS,
  STATE_TOPIC,
  TOPICS_OF_ABSENCES,
  type CollectionName,
  type TopicSuffix,
} from '../model/collections.ts';
import { allOffsets, isFirstLoadOver, type Progress } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import type { Ownership, TenantLog } from '../log/log.ts';
import type { IndexPosition, TenantState } from '../state/index-store.ts';
import { absenceSource, type AbsenceSource } from './plan-absences.ts';
import type { TopicEnds } from './topic-ends.ts';
import {
  findTopicLosses,
  recordTopicLosses,
  withoutChangelog,
  type DerivedProgress,
  type TopicLossParts,
} from './topic-losses.ts';
import type { TenantChains } from '../absences/absence-options.ts';
import type { Runtime } from '../runtime.ts';

export interface RecoveryPlanParts extends TopicLossParts {
  readonly log: TenantLog;
  readonly state: TenantState;
  readonly runtime: Runtime;
  /** Undefined if absences and their changes are not mirrored. */
  readonly chains?: TenantChains | undefined;
}

/** The state of a collection in log and index, after lost records are withdrawn, and the planned recovery. */
export interface Recovery {
  readonly collection: CollectionName;
  readonly progress: Progress | null;
  readonly derived: DerivedProgress;
  readonly position: IndexPosition | null;
  readonly plan: IndexRecoveryPlan;
  /** Null for a collection without derived ones. */
  readonly absences: AbsenceSource | null;
  /** Whether all absences were published at least once. */
  readonly isFirstLoadOver: boolean;
  /** Whether versions were published while absences were not mirrored. */
  readonly isApart: boolean;
}

/** Records the losses of a collection's topics, and plans its recovery. */
export async function planRecovery(
  parts: RecoveryPlanParts,
  options: { collection: CollectionName; ownership: Ownership; ends: TopicEnds; signal: AbortSignal },
): Promise<Recovery> {
  const { collection, ownership, ends, signal } = options;
  const position = await parts.state.collection(collection).position();
  let derived = derivedOf(parts, collection, ownership);
  const logged = ownership.progress.get(collection) ?? null;
  let progress = derived.size > 0 || logged === null ? logged : withoutChangelog(logged);
  const recordedAtMs = ownership.recordedAtMs.get(collection) ?? null;
  const lost =
    progress === null
      ? new Set<TopicSuffix>()
      : await findTopicLosses(parts, { progress, derived, ends, position, recordedAtMs, signal });
  const known = { progress, derived, position };
  const hasLostRows = lost.has(collection) || lost.has('rejects');
  const source =
    derived.size === 0
      ? null
      : absenceSource({
          ...known,
          hasLostTopics: CHAIN_COLLECTIONS.some((name) => lost.has(name)),
          hasLostAll: TOPICS_OF_ABSENCES.every((suffix) => lost.has(suffix)),
          hasLostChangelog: lost.has(STATE_TOPIC),
          hasEvents: holdsRecords(parts, ends, 'absence-changes'),
          hasChangelog: holdsRecords(parts, ends, STATE_TOPIC),
        });
  // The rebuild drops the only copy.
  const absences = source === 'index' && hasLostRows ? 'lost' : source;
  const transactionIds = new Set([...derived.values()].map((each) => each?.transactionId));
  const isApart = progress !== null && derived.size > 0 && !transactionIds.has(progress.transactionId);
  if (hasLostRows && progress !== null && absences !== 'lost')
    ({ progress, derived } = await recordTopicLosses(parts, { progress, derived }, lost));
  // The next transactions fill it again.
  if (absences === 'index' && progress !== null) progress = withoutChangelog(progress);
  const found = { collection, progress, derived, position, absences, isApart };
  return {
    ...found,
    isFirstLoadOver: wasFirstLoadOver(ownership, derived, absences),
    plan: planOf(parts, ownership, { ...found, hasLostRows }),
  };
}

function planOf(
  parts: RecoveryPlanParts,
  ownership: Ownership,
  known: Omit<Recovery, 'plan' | 'isFirstLoadOver'> & { hasLostRows: boolean },
): IndexRecoveryPlan {
  const { collection, progress, derived, position, absences } = known;
  if (known.hasLostRows) return rebuildBecause('a topic was deleted, recreated or cut off');
  if (ownership.unreadable?.has(collection) === true)
    return rebuildBecause('its newest record in progress cannot be decoded');
  // It has entries as the other mapping left them; a full sync brings the rest (invariant 12).
  if (absences === 'changelog' && (progress?.mapping ?? null) !== (parts.chains?.reader.mapping ?? null))
    return rebuildBecause('another mapping applies now');
  if (absences === 'nothing' && progress !== null) return rebuildBecause('absences were not mirrored before');
  return planIndexRecovery({
    // The index is at the end of all of its topics.
    progress:
      progress === null ? null : { ...progress, offsets: allOffsets([progress, ...derived.values()]) },
    index: position,
    transactionIds: commonIds(ownership, [collection, ...(known.isApart ? [] : derived.keys())]),
    nowMs: parts.runtime.now(),
  });
}

/** Whether anything was written to a topic, as far as its offsets show. */
function holdsRecords(parts: RecoveryPlanParts, { nextOffsets }: TopicEnds, suffix: TopicSuffix): boolean {
  const name = topicName(parts, suffix);
  for (let partition = 0; ; partition += 1) {
    const next = nextOffsets[partitionName(name, partition)];
    if (next === undefined) return false;
    if (next > 0) return true;
  }
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

/** If `progress` is lost, later events are news: a snapshot never begins again by itself. */
function wasFirstLoadOver(
  { progress, loadedBefore }: Ownership,
  derived: DerivedProgress,
  absences: AbsenceSource | null,
): boolean {
  const logged = derived.get('absence-changes') ?? null;
  if (logged !== null) return isFirstLoadOver(logged);
  if (loadedBefore?.has('absence-changes') === true) return true;
  return absences === 'changelog' && !progress.has('absence-versions');
}
