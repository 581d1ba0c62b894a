import { reach, type Offsets, type Progress } from '../model/progress.ts';

/** The position of an index (see state/index-store), as far as the plan needs it. */
export interface IndexedPoint {
  readonly sequence: number;
  readonly transactionId: string;
  /** Local wall clock at commit, ms since the epoch. It shows whether compaction may have removed tombstones since. */
  readonly committedAtMs: number;
  readonly offsets: Offsets;
}

export type IndexRecoveryPlan =
  | { readonly kind: 'current' }
  /** The index is an earlier point of this log: read on from its offsets. */
  | { readonly kind: 'resume' }
  /** The index is dropped, and made from the topics, read from the beginning. */
  | { readonly kind: 'rebuild'; readonly why: string };

/**
 * Kafka keeps tombstones for `delete.retention.ms` (7 days). An older index may have missed some. One day is left as a
 * margin.
 */
const TOMBSTONES_KEPT_MS = 6 * 24 * 3_600_000;
/** If the date of an index is further in the future than this, the index was written under a wrong clock, and can be of any age. */
const CLOCKS_DIFFER_MS = 3_600_000;

/**
 * How to make an index equal to its log (design, "Kafka is the truth"). If it cannot be proven that an index is an
 * earlier point of this log, it is rebuilt (invariant 1).
 */
export function planIndexRecovery(options: {
  /** Null when the log holds no progress of the collection. */
  progress: Progress | null;
  index: IndexedPoint | null;
  /** Ids of the transactions whose `progress` records the log still holds. */
  transactionIds: ReadonlySet<string>;
  nowMs: number;
}): IndexRecoveryPlan {
  const { progress, index, transactionIds, nowMs } = options;
  if (progress === null) return rebuildBecause('the log has no progress yet');
  if (index === null) return rebuildBecause('the index is empty or was not finished');
  if (index.transactionId === progress.transactionId) return { kind: 'current' };
  const isEarlier = index.sequence < progress.sequence && reach(progress.offsets, index.offsets);
  if (!isEarlier || !transactionIds.has(index.transactionId))
    return rebuildBecause('the index does not belong to a known point of this log');
  if (nowMs - index.committedAtMs > TOMBSTONES_KEPT_MS)
    return rebuildBecause('the index is so old that the log may have lost removals since');
  if (index.committedAtMs - nowMs > CLOCKS_DIFFER_MS)
    return rebuildBecause('the index was written at a time in the future');
  return { kind: 'resume' };
}

export function rebuildBecause(why: string): IndexRecoveryPlan {
  return { kind: 'rebuild', why };
}

/**
 * The first partition that holds less than was committed to it because its topic was deleted, recreated, emptied or cut
 * off. It is named as `<topic>/<partition>`; undefined if there is no such partition. The missing records must then be
 * republished. Compaction alone does not move the first offset of a partition.
 */
export function lostPartition(options: {
  /** Last committed offset, by `<topic>/<partition>`. */
  offsets: Offsets;
  /** Next offset to be written, by `<topic>/<partition>`. */
  nextOffsets: Offsets;
  /** First offset that still exists, by `<topic>/<partition>`. */
  firstOffsets: Offsets;
  /**
   * First offsets when the index was last equal to the log; absent: 0. Without an index they are unknown, and a partition
   * that does not begin at 0 counts as one that has lost records.
   */
  knownFirstOffsets?: Offsets | undefined;
}): string | undefined {
  const { offsets, nextOffsets, firstOffsets, knownFirstOffsets = {} } = options;
  return Object.keys(offsets).find(
    (partition) =>
      (nextOffsets[partition] ?? 0) <= (offsets[partition] ?? 0) ||
      (firstOffsets[partition] ?? 0) > (knownFirstOffsets[partition] ?? 0),
  );
}
