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
  /** Read from the beginning. */
  | { readonly kind: 'rebuild'; readonly why: string };

/** Removals are kept for `delete.retention.ms` (7 d); an index older than that less a day may have missed some. */
const TOMBSTONES_KEPT_MS = 6 * 24 * 3_600_000;
/** An index stamped further ahead than this was stamped by a clock that was wrong, and may be of any age. */
const CLOCKS_DIFFER_MS = 3_600_000;

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
  nowMs: number;
}): CatchUpPlan {
  const { progress, index, transactionIds, nowMs } = options;
  if (progress === null) return { kind: 'rebuild', why: 'the log has no progress yet' };
  if (index === null) return { kind: 'rebuild', why: 'the index is empty or was not finished' };
  if (index.transactionId === progress.transactionId) return { kind: 'current' };
  const isEarlier = index.sequence < progress.sequence && reachedBy(progress.offsets, index.offsets);
  if (!isEarlier || !transactionIds.has(index.transactionId)) {
    return { kind: 'rebuild', why: 'the index is not a known point of this log' };
  }
  if (nowMs - index.committedAtMs > TOMBSTONES_KEPT_MS) {
    return {
      kind: 'rebuild',
      why: 'the index is older than the removals that the log keeps',
    };
  }
  if (index.committedAtMs - nowMs > CLOCKS_DIFFER_MS) {
    return { kind: 'rebuild', why: 'the index was written at a time that is yet to come' };
  }
  return { kind: 'resume' };
}

/** Whether the log's last offsets are at or beyond an index's: after a loss they begin anew, and prove nothing. */
function reachedBy(last: Offsets, indexed: Offsets): boolean {
  return Object.entries(indexed).every(([partition, offset]) => (last[partition] ?? -1) >= offset);
}

/**
 * Whether topics hold less than was committed to them: deleted, recreated, emptied or cut off. Then what is missing must
 * be published again. Compaction alone leaves the beginning of a partition where it is.
 */
export function hasLostRecords(options: {
  /** Last offset that was committed, by `<topic>/<partition>`. */
  offsets: Offsets;
  /** Next offset to be written, likewise. */
  nextOffsets: Offsets;
  /** First offset still there, likewise. */
  firstOffsets: Offsets;
  /**
   * First offsets when the index was last equal to the log; absent: 0. Nothing is known of them without an index, and
   * then whatever does not begin at 0 has lost something.
   */
  knownFirstOffsets?: Offsets | undefined;
}): boolean {
  const { offsets, nextOffsets, firstOffsets, knownFirstOffsets = {} } = options;
  return Object.entries(offsets).some(
    ([partition, last]) =>
      (nextOffsets[partition] ?? 0) <= last ||
      (firstOffsets[partition] ?? 0) > (knownFirstOffsets[partition] ?? 0),
  );
}

/** Stamps of one transaction's records differ by less, and so do the clocks of brokers that stamp them. */
export const STAMPS_DIFFER_MS = 5_000;

/**
 * Whether a topic was made anew and has grown beyond its old length since: then a record at or before the last committed
 * offset is stamped later than `progress` tells of it (`sinceOffsets`: first offset stamped so).
 */
export function wasRecreatedAndGrew(options: { offsets: Offsets; sinceOffsets: Offsets }): boolean {
  const { offsets, sinceOffsets } = options;
  return Object.entries(sinceOffsets).some(([partition, first]) => first <= (offsets[partition] ?? -1));
}
