import { planIndexRecovery, rebuildBecause, type IndexRecoveryPlan } from '../core/index-recovery.ts';
import {
  DERIVED_COLLECTIONS,
  STATE_TOPIC,
  type CollectionName,
  type TopicSuffix,
  type DerivedCollection,
} from '../model/collections.ts';
import { allOffsets, isFirstLoadOver, type Progress, STATE_COMPLETE } from '../model/progress.ts';
import { topicName } from '../model/topic-names.ts';
import type { Ownership } from '../log/log.ts';
import type { IndexPosition } from '../state/index-store.ts';
import type { TenantTopics, TopicEnds } from './topic-ends.ts';
import {
  findTopicLosses,
  recordTopicLosses,
  withoutChangelog,
  type DerivedProgress,
} from './topic-losses.ts';
import type { Tenant } from '../table/tenant.ts';
import { RollcallError } from '../errors.ts';

/** The state of a collection in the log and in the index, after losses of records have been recorded, and the planned recovery. */
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
  /**
   * Whether versions were published while absences were not mirrored. Then absences lack these versions, and are derived
   * from all versions again.
   */
  readonly lacksAbsences: boolean;
  /**
   * Whether the index of absences is copied from a changelog that was written under a mapping other than the one in force.
   * The copy leaves out what the mapping in force does not allow (invariant 12). What only this mapping allows comes with
   * the next full sync.
   */
  readonly isRemapped: boolean;
}

/** Records the losses of a collection's topics, and plans its recovery. */
export async function planRecovery(
  tenant: Tenant,
  options: { collection: CollectionName; ownership: Ownership; ends: TopicEnds; signal: AbortSignal },
): Promise<Recovery> {
  const { collection, ownership, ends, signal } = options;
  const position = await tenant.state.collection(collection).position();
  let derived = derivedOf(tenant, collection, ownership);
  const logged = ownership.progress.get(collection) ?? null;
  let progress = derived.size > 0 || logged === null ? logged : withoutChangelog(logged);
  const lost =
    progress === null ? new Set<TopicSuffix>() : findTopicLosses({ progress, derived, ends, position });
  const known = { progress, derived, position };
  const hasLostRows = lost.has(collection) || lost.has('rejects');
  const hasLostTopics = DERIVED_COLLECTIONS.some((name) => lost.has(name));
  const isContinued =
    progress !== null && !hasLostTopics && [...derived.values()].some((each) => each !== null);
  const holds = async (suffix: TopicSuffix): Promise<boolean> =>
    isContinued || (await holdsRecords(tenant, { suffix, ends, signal }));
  const source =
    derived.size === 0
      ? null
      : absenceSource({
          ...known,
          hasLostTopics,
          hasLostChangelog: lost.has(STATE_TOPIC),
          hasAbsences: await holds('absences'),
          hasEvents: await holds('absence-changes'),
          hasChangelog: await holds(STATE_TOPIC),
        });
  // If rows are lost, the index is rebuilt. This would drop the only copy of its absences.
  const absences = source === 'index' && hasLostRows ? 'lost' : source;
  const transactionIds = new Set([...derived.values()].map((each) => each?.transactionId));
  const lacksAbsences = progress !== null && derived.size > 0 && !transactionIds.has(progress.transactionId);
  const beginsAgain = hasLostTopics && absences === 'nothing';
  if ((hasLostRows || beginsAgain) && progress !== null && absences !== 'lost')
    ({ progress, derived } = await recordTopicLosses(tenant, { progress, derived }, lost));
  // The next transactions fill the lost changelog again.
  if (absences === 'index' && progress !== null) progress = withoutChangelog(progress);
  const mapping = tenant.absences?.reader.mapping ?? null;
  const isRemapped = absences === 'changelog' && (progress?.mapping ?? null) !== mapping;
  const found = { collection, progress, derived, position, absences, lacksAbsences, isRemapped };
  return {
    ...found,
    isFirstLoadOver: wasFirstLoadOver(derived, absences),
    plan: planOf(tenant, ownership, { ...found, hasLostRows }),
  };
}

function planOf(
  tenant: Tenant,
  ownership: Ownership,
  known: Omit<Recovery, 'plan' | 'isFirstLoadOver'> & { hasLostRows: boolean },
): IndexRecoveryPlan {
  const { collection, progress, derived, position, absences } = known;
  if (known.hasLostRows) return rebuildBecause('a topic was deleted, recreated or cut off');
  if (known.isRemapped) return rebuildBecause('another mapping applies now');
  if (absences === 'nothing' && progress !== null) return rebuildBecause('absences were not mirrored before');
  return planIndexRecovery({
    // The offsets of an index include those of its derived topics.
    progress:
      progress === null ? null : { ...progress, offsets: allOffsets([progress, ...derived.values()]) },
    index: position,
    transactionIds: commonIds(ownership, [collection, ...(known.lacksAbsences ? [] : derived.keys())]),
    nowMs: tenant.runtime.now(),
  });
}

/** Whether anything was ever committed to a topic. Records of a first transaction that was aborted do not count. */
async function holdsRecords(
  tenant: TenantTopics,
  { suffix, ends, signal }: { suffix: TopicSuffix; ends: TopicEnds; signal: AbortSignal },
): Promise<boolean> {
  const name = topicName(tenant, suffix);
  if (!Object.entries(ends.nextOffsets).some(([each, next]) => next > 0 && each.startsWith(`${name}/`)))
    return false;
  let isFound = false;
  const onBatch = (records: readonly unknown[]): void => {
    isFound ||= records.length > 0;
  };
  await tenant.log.read({ from: [{ topic: suffix, after: {} }], onBatch, signal });
  return isFound;
}

/**
 * The transactions that covered all of these collections. An index from a time when one of the collections was not
 * mirrored lacks the records of that collection.
 */
function commonIds({ transactionIds }: Ownership, collections: readonly CollectionName[]): Set<string> {
  const [first = new Set<string>(), ...others] = collections.map((name) => new Set(transactionIds.get(name)));
  return others.reduce((common, ids) => common.intersection(ids), first);
}

/** The progress of the collections derived from one; empty for most. */
function derivedOf({ absences }: Tenant, collection: CollectionName, ownership: Ownership): DerivedProgress {
  if (absences === undefined || collection !== 'absence-versions') return new Map();
  return new Map(DERIVED_COLLECTIONS.map((name) => [name, ownership.progress.get(name) ?? null]));
}

/**
 * If `progress` is lost, later events count as news. A first load, whose events are snapshots, never begins again by
 * itself.
 */
function wasFirstLoadOver(derived: DerivedProgress, absences: AbsenceSource | null): boolean {
  const logged = derived.get('absence-changes') ?? null;
  return logged === null ? absences === 'changelog' : isFirstLoadOver(logged);
}

/**
 * Where the index of absences comes from:
 * - `nothing`: nothing was ever published, or the topics were recreated, so that the absences begin again
 * - `changelog`: a copy of `absence-state`
 * - `index`: the index, which is at the end of the log, fills the lost changelog
 * - `lost`: neither of the two is left, or what was published is lost: a person decides
 */
export type AbsenceSource = 'nothing' | 'changelog' | 'index' | 'lost';

export interface AbsenceFacts {
  readonly progress: Progress | null;
  readonly derived: ReadonlyMap<DerivedCollection, Progress | null>;
  readonly position: IndexPosition | null;
  /** Whether `absences` or `absence-changes` lost records. */
  readonly hasLostTopics: boolean;
  /** Whether `absence-state` lost records. */
  readonly hasLostChangelog: boolean;
  /**
   * Whether `absences`, `absence-changes` and `absence-state` hold records. The topics are read only if `progress` does
   * not already show that they do.
   */
  readonly hasAbsences: boolean;
  readonly hasEvents: boolean;
  readonly hasChangelog: boolean;
}

/** Decides where the index of absences comes from. It is copied, never derived from the topics for consumers. */
export function absenceSource(facts: AbsenceFacts): AbsenceSource {
  const { progress, derived, position } = facts;
  // If the topics were deleted together, as `topics recreate` does, nothing is left that could be continued.
  if (facts.hasLostTopics)
    return facts.hasAbsences || facts.hasEvents || facts.hasChangelog ? 'lost' : 'nothing';
  // Without `progress` nothing shows whether the changelog is complete. But it is written together with the events.
  if (progress === null && facts.hasEvents) return facts.hasChangelog ? 'changelog' : 'lost';
  if (progress === null || [...derived.values()].every((each) => each === null))
    // If the changelog has entries that `progress` knows nothing of, nothing would ever remove them.
    return facts.hasChangelog ? 'lost' : 'nothing';
  if (!facts.hasLostChangelog && progress.absenceState === STATE_COMPLETE) return 'changelog';
  return position?.transactionId === progress.transactionId ? 'index' : 'lost';
}

export function absencesLost(tenantId: string): RollcallError {
  const what = `Published absences of ${tenantId}, or the state from which Rollcall continues them, are lost: absence-versions, absences and absence-changes need a decision`;
  return new RollcallError('ABSENCES_LOST', what, {
    remedy: `If absences, absence-changes or absence-state were deleted by mistake and you have a copy, restore it. Otherwise load all absences again, which may give them other ids: stop all processes, run "rollcall topics recreate absences --tenant ${tenantId} --yes", and start them again`,
  });
}
