import { wasRecreatedAndGrew, hasLostRecords, STAMPS_DIFFER_MS } from '../core/catch-up-plan.ts';
import type { ChainCollection, TopicSuffix } from '../model/collections.ts';
import { allOffsets, offsetsOf, offsetsWithout, type Offsets, type Progress } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topics.ts';
import type { TenantLog } from '../log/log.ts';
import type { IndexPosition } from '../state/index-store.ts';
import type { TopicEnds } from './topic-ends.ts';

/** Where the collections derived from one stand. */
export type DerivedProgress = ReadonlyMap<ChainCollection, Progress | null>;

export interface TopicLossParts {
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly log: TenantLog;
  readonly randomId: () => string;
}

/**
 * Topics that lost records: what was said of their completeness and of how far they are no longer holds. Committed
 * before anything else is written there, which would make a topic look whole again.
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
  // Of a topic whose loss was told, only the index made from what was left knows how far that went.
  const indexed = position?.transactionId === progress.transactionId ? position : null;
  const offsets = allOffsets([indexed, progress, ...derived.values()]);
  const lost: TopicSuffix[] = [];
  for (const suffix of [progress.collection, 'rejects' as const, ...derived.keys()]) {
    // What other collections rejected may be newer than this one's progress, and yet is as it should be.
    const told = offsetsOf(allOffsets([progress, ...derived.values()]), suffix);
    const isLost =
      hasLostRecords({ ...ends, offsets: offsetsOf(offsets, suffix), knownFirstOffsets }) ||
      (await isAnotherTopic(parts, suffix, { offsets: told, recordedAtMs, signal: options.signal }));
    if (isLost) lost.push(suffix);
  }
  if (lost.length === 0) return { progress, derived, hasLost: false };
  const transaction = { sequence: progress.sequence + 1, transactionId: parts.randomId(), complete: false };
  const isOwnLost = lost.includes(progress.collection) || lost.includes('rejects');
  const told = await parts.log.commit({
    records: [],
    lostTopics: lost,
    progress: {
      ...progress,
      ...transaction,
      offsets: offsetsWithout(progress.offsets, lost),
      ...(isOwnLost ? { watermarkMs: null, lastCompleteFull: null } : {}),
    },
    derived: [...derived].map(([name, each]) => {
      const isComplete = each !== null && !lost.includes(name);
      return Object.assign({}, each ?? progress, transaction, {
        collection: name,
        offsets: isComplete ? each.offsets : {},
        lastCompleteFull: isComplete ? each.lastCompleteFull : null,
        firstLoad: isComplete ? each.firstLoad : undefined,
      });
    }),
  });
  const derivedCommitted = new Map(told.derived.map((each) => [each.collection as ChainCollection, each]));
  return { progress: told.progress, derived: derivedCommitted, hasLost: true };
}

/** Whether a topic of that name was made anew and has grown beyond its old length since. */
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
  // Markers of transactions are stamped by the brokers, whose clock may be ahead of ours: only a record is proof.
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
