import { whyHeld, type GuardLimits } from '../deletions/guard.ts';
import type { Difference } from './difference.ts';

export interface Foreseen {
  readonly differences: readonly Difference[];
  /** Why the next full sync will withhold removals that look pending; null when it will not. */
  readonly why: string | null;
}

/**
 * Marks pending removals as withheld when the guard will stop them in the next full sync. `isLoss`: which differences
 * count as removals. `topicKeys`: number of keys in the topic. `whyWithheld`: why all removals of this collection need a
 * decision regardless of their number; null when they do not.
 */
export function foreseeGuard(
  differences: readonly Difference[],
  known: {
    readonly isLoss: (difference: Difference) => boolean;
    readonly topicKeys: number;
    readonly removedToday: number;
    readonly limits: GuardLimits;
    readonly whyWithheld: string | null;
  },
): Foreseen {
  const { isLoss, removedToday, limits } = known;
  const losses = differences.filter(isLoss);
  if (!losses.some(({ state }) => state === 'pending')) return { differences, why: null };
  // A sync compares with the index, which does not hold records that another program wrote.
  const notIndexed = losses.filter(({ state }) => state === 'wrong').length;
  const knownRows = known.topicKeys - notIndexed;
  const why =
    whyHeld({ missing: losses.length - notIndexed, removedToday, known: knownRows }, limits) ??
    known.whyWithheld;
  if (why === null) return { differences, why };
  const foreseen = differences.map((each) =>
    each.state === 'pending' && isLoss(each) ? { ...each, state: 'withheld' as const } : each,
  );
  return { differences: foreseen, why };
}
