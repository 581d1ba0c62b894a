import { whyWithhold, type GuardLimits } from '../deletion-guard.ts';
import type { Difference } from './difference.ts';

export interface Foreseen {
  readonly differences: readonly Difference[];
  /** Why the next full pass will withhold removals that look pending; null when it will not. */
  readonly why: string | null;
}

/**
 * What the next full pass will do with the removals that it is to find: where the guard will hold them, they do not go
 * by themselves. `topicKeys`: keys of the topic. `emptied`: keys whose content the hub gives as none any more, which
 * counts as a removal. `whyHeld`: why any removal of this collection waits, whatever its numbers.
 */
export function foreseeGuard(
  differences: readonly Difference[],
  known: {
    readonly topicKeys: number;
    readonly emptied: ReadonlySet<string>;
    readonly deletedEarlierToday: number;
    readonly limits: GuardLimits;
    readonly whyHeld: string | null;
  },
): Foreseen {
  const isLoss = ({ kind, key }: Difference): boolean =>
    kind === 'left-over' || (kind === 'different' && known.emptied.has(key));
  const losses = differences.filter(isLoss);
  if (!losses.some(({ state }) => state === 'pending')) return { differences, why: null };
  // The index, by which a pass goes, knows nothing of what somebody else wrote.
  const invented = losses.filter(({ state }) => state === 'wrong').length;
  const { deletedEarlierToday, limits } = known;
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
