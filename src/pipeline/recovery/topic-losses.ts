import { wasRecreatedAndGrew, hasLostRecords, STAMPS_DIFFER_MS } from '../../core/index-recovery.ts';
import { STATE_TOPIC, type ChainCollection, type TopicSuffix } from '../../model/collections.ts';
import { allOffsets, offsetsOf, offsetsWithout, type Offsets, type Progress } from '../../model/progress.ts';
import { partitionName, topicName } from '../../model/topic-names.ts';
import type { TenantLog } from '../../log/log.ts';
import type { IndexPosition } from '../../state/index-store.ts';
import type { TopicEnds } from '../topic-ends.ts';
import type { Runtime } from '../tenant-parts.ts';

/** The progress of derived collections. */
export type DerivedProgress = ReadonlyMap<ChainCollection, Progress | null>;

export interface TopicLossParts {
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly log: TenantLog;
  readonly runtime: Runtime;
}

/**
 * Finds topics that lost records, and withdraws their completeness and position in `progress`. It commits this before
 * anything else is written to them, which would hide the loss. A loss of the changelog alone is only returned: the import
 * that follows begins with a transaction that records it.
 */
export async function recordTopicLosses(
  parts: TopicLossParts,
  options: {
    progress: Progress | null;
    derived: DerivedProgress;
    ends: TopicEnds;
    position: IndexPosition | null;
    recordedAtMs: number | null;
    signal: AbortSignal;
  },
): Promise<{ progress: Progress | null; derived: DerivedProgress; hasLost: boolean }> {
  const { progress, derived } = options;
  if (progress === null) return { progress, derived, hasLost: false };
  const { ends, position, recordedAtMs } = options;
  const knownFirstOffsets = position?.firstOffsets;
  // After a recorded loss, only the index, rebuilt from the remaining records, knows the offsets of that topic.
  const indexed = position?.transactionId === progress.transactionId ? position : null;
  const offsets = allOffsets([indexed, progress, ...derived.values()]);
  const lost: TopicSuffix[] = [];
  const changelog = derived.size > 0 ? [STATE_TOPIC] : [];
  for (const suffix of [progress.collection, 'rejects' as const, ...derived.keys(), ...changelog]) {
    // Rejects of other collections can be newer than this one's progress, which is no loss.
    const known = offsetsOf(allOffsets([progress, ...derived.values()]), suffix);
    const isLost =
      hasLostRecords({ ...ends, offsets: offsetsOf(offsets, suffix), knownFirstOffsets }) ||
      (await isAnotherTopic(parts, suffix, { offsets: known, recordedAtMs, signal: options.signal }));
    if (isLost) lost.push(suffix);
  }
  if (lost.every((suffix) => suffix === STATE_TOPIC)) {
    return { progress: lost.length === 0 ? progress : withoutChangelog(progress), derived, hasLost: false };
  }
  const transaction = {
    sequence: progress.sequence + 1,
    transactionId: parts.runtime.randomId(),
    complete: false,
  };
  const isOwnLost = lost.includes(progress.collection) || lost.includes('rejects');
  const committed = await parts.log.commit({
    records: [],
    lostTopics: lost,
    progress: {
      ...progress,
      ...transaction,
      offsets: offsetsWithout(progress.offsets, lost),
      absenceState: undefined,
      ...(isOwnLost ? { watermarkMs: null, lastCompleteFull: null } : {}),
    },
    derived: [...derived].map(([name, each]) => {
      const isComplete = each !== null && !lost.includes(name);
      return Object.assign({}, each ?? progress, transaction, {
        collection: name,
        absenceState: undefined,
        offsets: isComplete ? each.offsets : {},
        lastCompleteFull: isComplete ? each.lastCompleteFull : null,
        firstLoad: isComplete ? each.firstLoad : undefined,
        // The watermark of a derived collection is always its source's.
        ...(isOwnLost ? { watermarkMs: null } : {}),
      });
    }),
  });
  const derivedCommitted = new Map(
    committed.derived.map((each) => [each.collection as ChainCollection, each]),
  );
  return { progress: committed.progress, derived: derivedCommitted, hasLost: true };
}

/** Progress as if `absence-state` had never been written. */
export function withoutChangelog(progress: Progress): Progress {
  return { ...progress, offsets: offsetsWithout(progress.offsets, [STATE_TOPIC]), absenceState: undefined };
}

/** Whether a topic was recreated under the same name and has grown beyond its old length since. */
async function isAnotherTopic(
  parts: TopicLossParts,
  suffix: TopicSuffix,
  known: { offsets: Offsets; recordedAtMs: number | null; signal: AbortSignal },
): Promise<boolean> {
  const { offsets, recordedAtMs, signal } = known;
  if (recordedAtMs === null || Object.keys(offsets).length === 0) return false;
  const sinceMs = recordedAtMs + STAMPS_DIFFER_MS;
  const sinceOffsets = await parts.log.offsetsSince(suffix, sinceMs);
  if (!wasRecreatedAndGrew({ offsets, sinceOffsets })) return false;
  // Brokers put their own time on transaction markers, and their clock may be ahead of the local one: only a record is
  // proof.
  let isProven = false;
  const after = Object.fromEntries(
    Object.entries(offsets).map(([name, last]) => [name, Math.min(last, (sinceOffsets[name] ?? last) - 1)]),
  );
  await parts.log.read({
    from: [{ topic: suffix, after }],
    onBatch: (records) => {
      isProven ||= records.some(({ partition, offset, publishedAtMs }) => {
        const last = offsets[partitionName(topicName(parts, suffix), partition)] ?? -1;
        return offset <= last && publishedAtMs >= sinceMs;
      });
      return Promise.resolve();
    },
    signal,
  });
  return isProven;
}
