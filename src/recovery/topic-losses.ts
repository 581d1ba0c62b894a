import { lostPartition } from '../core/index-recovery.ts';
import { STATE_TOPIC, type DerivedCollection, type TopicSuffix } from '../model/collections.ts';
import { allOffsets, isFirstLoadOver, offsetsOf, offsetsWithout, type Progress } from '../model/progress.ts';
import type { IndexPosition } from '../state/index-store.ts';
import type { TopicEnds } from './topic-ends.ts';
import type { Tenant } from '../table/tenant.ts';

/** The progress of derived collections. */
export type DerivedProgress = ReadonlyMap<DerivedCollection, Progress | null>;

export interface KnownTopics {
  readonly progress: Progress;
  readonly derived: DerivedProgress;
  readonly ends: TopicEnds;
  readonly position: IndexPosition | null;
}

/** The topics of a collection that lost records. */
export function findTopicLosses(options: KnownTopics): ReadonlySet<TopicSuffix> {
  const { progress, derived, ends, position } = options;
  const knownFirstOffsets = position?.firstOffsets;
  // After a recorded loss, only the index knows the offsets of that topic. It was rebuilt from the remaining records.
  const indexed = position?.transactionId === progress.transactionId ? position : null;
  const offsets = allOffsets([indexed, progress, ...derived.values()]);
  const lost = topicsWith({ collection: progress.collection, derived }).filter((suffix) =>
    lostPartition({ ...ends, offsets: offsetsOf(offsets, suffix), knownFirstOffsets }),
  );
  return new Set(lost);
}

/** The topics that the index of a collection reflects. */
export function topicsWith(of: {
  readonly collection: TopicSuffix;
  readonly derived: DerivedProgress;
}): readonly TopicSuffix[] {
  const changelog = of.derived.size > 0 ? [STATE_TOPIC] : [];
  return [of.collection, ...of.derived.keys(), ...changelog, 'rejects'];
}

/**
 * Withdraws the completeness and the position of a collection if its topic, or `rejects`, lost records. This is
 * committed before anything else is written to these topics, because later records would hide the loss.
 */
export async function recordTopicLosses(
  tenant: Tenant,
  { progress, derived }: Pick<KnownTopics, 'progress' | 'derived'>,
  lost: ReadonlySet<TopicSuffix>,
): Promise<{ progress: Progress; derived: DerivedProgress }> {
  const transaction = {
    sequence: progress.sequence + 1,
    transactionId: tenant.runtime.randomId(),
    complete: false,
  };
  const committed = await tenant.log.commit({
    records: [],
    lostTopics: [...lost],
    progress: {
      ...progress,
      ...transaction,
      offsets: offsetsWithout(progress.offsets, [...lost]),
      absenceState: lost.has(STATE_TOPIC) ? undefined : progress.absenceState,
      watermarkMs: null,
      lastCompleteFull: null,
      firstLoad: isFirstLoadOver(progress) ? 'over' : undefined,
    },
    derived: [...derived].map(([name, each]) => {
      const isWhole = each !== null && !lost.has(name);
      return Object.assign({}, each ?? progress, transaction, {
        collection: name,
        absenceState: undefined,
        offsets: isWhole ? each.offsets : {},
        lastCompleteFull: isWhole ? each.lastCompleteFull : null,
        firstLoad: isWhole ? each.firstLoad : undefined,
        // The watermark of a derived collection is always the watermark of its source.
        watermarkMs: null,
      });
    }),
  });
  const derivedCommitted = new Map(
    committed.derived.map((each) => [each.collection as DerivedCollection, each]),
  );
  return { progress: committed.progress, derived: derivedCommitted };
}

/** Progress as if `absence-state` had never been written. */
export function withoutChangelog(progress: Progress): Progress {
  return { ...progress, offsets: offsetsWithout(progress.offsets, [STATE_TOPIC]), absenceState: undefined };
}
