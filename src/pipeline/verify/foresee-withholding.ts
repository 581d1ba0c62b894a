import { localDate } from '../../core/full-pull-time.ts';
import type { Difference } from '../../core/verify/difference.ts';
import { foreseeGuard, type Foreseen } from '../../core/verify/foresee-guard.ts';
import type { TenantCollection } from '../tenant-parts.ts';
import { whyOthersWithhold } from '../withheld-deletions.ts';
import type { VerifyTools } from './verify-tools.ts';

/** Distinguishes removals that the next full sync will withhold from those that it will publish. */
export async function foreseeWithholding(
  { state, parts }: VerifyTools,
  { name, fullPull }: Pick<TenantCollection, 'name' | 'fullPull'>,
  found: {
    readonly differences: readonly Difference[];
    readonly isLoss: (difference: Difference) => boolean;
    readonly topicKeys: number;
  },
): Promise<Foreseen> {
  const { differences, isLoss, topicKeys } = found;
  const memory = state?.deletions;
  const mirrored = parts.collections.map((each) => each.name);
  const today = localDate(parts.runtime.now(), fullPull.timeZone);
  const hasWithheld = differences.some((each) => each.state === 'withheld');
  const isTripped = hasWithheld && (await memory?.tripped())?.has(name) === true;
  const ownList = isTripped ? 'earlier deletions need a decision' : null;
  const others =
    memory === undefined ? null : await whyOthersWithhold({ collection: name, memory, mirrored });
  return foreseeGuard(differences, {
    isLoss,
    topicKeys,
    deletedEarlierToday: (await memory?.removedOn(today))?.get(name) ?? 0,
    limits: parts.guard,
    whyWithheld: ownList ?? others,
  });
}
