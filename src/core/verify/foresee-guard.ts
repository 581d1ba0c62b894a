import { whyWithhold, type GuardLimits } from '../deletion-guard.ts';
import type { Difference } from './difference.ts';

export interface Foreseen {
  readonly differences: readonly Difference[];
  /** Why the next full pass will withhold removals that look pending; null when it will not. */
  readonly why: string | null;
}

/**
 * What the next full pass will do with the removals that it is to find: where the guard will hold them, they do not go
 * by themselves. `isLoss`: what counts as a removal. `topicKeys`: keys of the topic. `whyHeld`: why any removal of
 * this collection waits, whatever its numbers.
 */
export function foreseeGuard(
  differences: readonly Difference[],
  known: {
    readonly isLoss: (difference: Difference) => boolean;
    readonly topicKeys: number;
    readonly deletedEarlierToday: number;
    readonly limits: GuardLimits;
    readonly whyHeld: string | null;
  },
): Foreseen {
  const { isLoss, deletedEarlierToday, limits } = known;
  const losses = differences.filter(isLoss);
  if (!losses.some(({ state }) => state === 'pending')) return { differences, why: null };
  // The index, by which a pass goes, knows nothing of what somebody else wrote.
  const invented = losses.filter(({ state }) => state === 'wrong').length;
  const knownRows = known.topicKeys - invented;
  const why =
    whyWithhold({ deletions: losses.length - invented, deletedEarlierToday, knownRows }, limits) ??
    known.whyHeld;
  if (why === null) return { differences, why };
  const foreseen = differences.map((each) =>
    each.state === 'pending' && isLoss(each) ? { ...each, state: 'withheld' as const } : each,
  );
  return { differences: foreseen, why };
}
