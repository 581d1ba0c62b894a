import { wasRecreatedAndGrew, hasLostRecords, STAMPS_DIFFER_MS } from '../core/index-recovery.ts';
import { STATE_TOPIC, type ChainCollection, type TopicSuffix } from '../model/collections.ts';
import { allOffsets, offsetsOf, offsetsWithout, type Offsets, type Progress } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import type { IndexPosition } from '../state/index-store.ts';
import type { TopicEnds } from './topic-ends.ts';
import type { Tenant } from '../table/tenant.ts';

/** The progress of derived collections. */
export type DerivedProgress = ReadonlyMap<ChainCollection, Progress | null>;

export interface KnownTopics {
  readonly progress: Progress;
  readonly derived: DerivedProgress;
  readonly ends: TopicEnds;
  readonly position: IndexPosition | null;
  readonly recordedAtMs: number | null;
  readonly signal: AbortSignal;
}

/** The topics of a collection that lost records. */
export async function findTopicLosses(
  tenant: Tenant,
  options: KnownTopics,
): Promise<ReadonlySet<TopicSuffix>> {
  const { progress, derived, ends, position, recordedAtMs, signal } = options;
  const knownFirstOffsets = position?.firstOffsets;
  // After a recorded loss, only the index, rebuilt from the remaining records, knows the offsets of that topic.
  const indexed = position?.transactionId === progress.transactionId ? position : null;
  const offsets = allOffsets([indexed, progress, ...derived.values()]);
  const lost = new Set<TopicSuffix>();
  const changelog = derived.size > 0 ? [STATE_TOPIC] : [];
  for (const suffix of [progress.collection, 'rejects' as const, ...derived.keys(), ...changelog]) {
    // Rejects of other collections can be newer than this one's progress, which is no loss.
    const known = offsetsOf(allOffsets([progress, ...derived.values()]), suffix);
    const isLost =
      hasLostRecords({ ...ends, offsets: offsetsOf(offsets, suffix), knownFirstOffsets }) ||
      (await isAnotherTopic(tenant, suffix, { offsets: known, recordedAtMs, signal }));
    if (isLost) lost.add(suffix);
  }
  return lost;
}

/**
 * Withdraws the completeness and the position of a collection whose topic, or `rejects`, lost records. It commits this
 * before anything else is written to them, which would hide the loss.
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
    },
    derived: [...derived].map(([name, each]) => {
      const isWhole = each !== null && !lost.has(name);
      return Object.assign({}, each ?? progress, transaction, {
        collection: name,
        absenceState: undefined,
        offsets: isWhole ? each.offsets : {},
        lastCompleteFull: isWhole ? each.lastCompleteFull : null,
        firstLoad: isWhole ? each.firstLoad : undefined,
        // The watermark of a derived collection is always its source's.
        watermarkMs: null,
      });
    }),
  });
  const derivedCommitted = new Map(
    committed.derived.map((each) => [each.collection as ChainCollection, each]),
  );
  return { progress: committed.progress, derived: derivedCommitted };
}

/** Progress as if `absence-state` had never been written. */
export function withoutChangelog(progress: Progress): Progress {
  return { ...progress, offsets: offsetsWithout(progress.offsets, [STATE_TOPIC]), absenceState: undefined };
}

/** Whether a topic was recreated under the same name and has grown beyond its old length since. */
async function isAnotherTopic(
  tenant: Tenant,
  suffix: TopicSuffix,
  known: { offsets: Offsets; recordedAtMs: number | null; signal: AbortSignal },
): Promise<boolean> {
  const { offsets, recordedAtMs, signal } = known;
  if (recordedAtMs === null || Object.keys(offsets).length === 0) return false;
  const sinceMs = recordedAtMs + STAMPS_DIFFER_MS;
  const sinceOffsets = await tenant.log.offsetsSince(suffix, sinceMs);
  if (!wasRecreatedAndGrew({ offsets, sinceOffsets })) return false;
  // Brokers put their own time on transaction markers, and their clock may be ahead of the local one: only a record is
  // proof.
  let isProven = false;
  const after = Object.fromEntries(
    Object.entries(offsets).map(([name, last]) => [name, Math.min(last, (sinceOffsets[name] ?? last) - 1)]),
  );
  await tenant.log.read({
    from: [{ topic: suffix, after }],
    onBatch: (records) => {
      isProven ||= records.some(({ partition, offset, publishedAtMs }) => {
        const last = offsets[partitionName(topicName(tenant, suffix), partition)] ?? -1;
        return offset <= last && publishedAtMs >= sinceMs;
      });
      return Promise.resolve();
    },
    signal,
  });
  return isProven;
}
