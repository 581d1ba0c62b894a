import type { Offsets, Progress } from '../model/progress.ts';

/** Where an index stands (see state/index-store), as far as the plan needs it. */
export interface IndexedPoint {
  readonly sequence: number;
  readonly transactionId: string;
  readonly committedAtMs: number;
  readonly offsets: Offsets;
}

export type CatchUpPlan =
  | { readonly kind: 'current' }
  /** The index is an earlier point of this very log: read on from its offsets. */
  | { readonly kind: 'resume' }
  /** Read from the beginning. `dataLost`: the topic holds less than was committed, so all must be published again. */
  | { readonly kind: 'rebuild'; readonly why: string; readonly dataLost: boolean };

/** Removals are kept for `delete.retention.ms` (7 d); an index older than that less a day may have missed some. */
const TOMBSTONES_KEPT_MS = 6 * 24 * 3_600_000;

/**
 * What it takes to make an index equal to its log (design, "Kafka is the truth").
 * Anything not provably an earlier point of this log is rebuilt (invariant 1).
 */
export function planCatchUp(options: {
  /** Null when the log holds no progress of the collection. */
  progress: Progress | null;
  index: IndexedPoint | null;
  /** Ids of transactions still to be found in the log. */
  transactionIds: ReadonlySet<string>;
  /** Next offset to be written, by `<topic>/<partition>`, of every topic the collection writes to. */
  nextOffsets: Offsets;
  /** First offset still there, likewise, where it is known; compaction leaves it where it is. */
  firstOffsets?: Offsets | undefined;
  nowMs: number;
}): CatchUpPlan {
  const { progress, index, transactionIds, nextOffsets, firstOffsets = {}, nowMs } = options;
  if (progress === null) return { kind: 'rebuild', why: 'the log has no progress yet', dataLost: false };
  if (!reaches(nextOffsets, progress.offsets) || cutOff(firstOffsets, progress.offsets)) {
    return { kind: 'rebuild', why: 'a topic was deleted, recreated or truncated', dataLost: true };
  }
  if (index === null)
    return { kind: 'rebuild', why: 'the index is empty or was not finished', dataLost: false };
  if (index.transactionId === progress.transactionId) return { kind: 'current' };
  const isEarlier = index.sequence < progress.sequence && reachedBy(progress.offsets, index.offsets);
  if (!isEarlier || !transactionIds.has(index.transactionId)) {
    return { kind: 'rebuild', why: 'the index is not a known point of this log', dataLost: false };
  }
  if (nowMs - index.committedAtMs > TOMBSTONES_KEPT_MS) {
    return {
      kind: 'rebuild',
      why: 'the index is older than the removals that the log keeps',
      dataLost: false,
    };
  }
  return { kind: 'resume' };
}

/** Whether the log's last offsets are at or beyond an index's: after a loss they begin anew, and prove nothing. */
function reachedBy(last: Offsets, indexed: Offsets): boolean {
  return Object.entries(indexed).every(([partition, offset]) => (last[partition] ?? -1) >= offset);
}

function reaches(nextOffsets: Offsets, offsets: Offsets): boolean {
  return Object.entries(offsets).every(([partition, last]) => (nextOffsets[partition] ?? 0) > last);
}

/** Whether a partition begins after all that was committed to it: it was emptied. */
function cutOff(firstOffsets: Offsets, offsets: Offsets): boolean {
  return Object.entries(offsets).some(([partition, last]) => (firstOffsets[partition] ?? 0) > last);
}
