import { isOtherHeld } from '../core/deletions/waiting-list.ts';
import { localDate } from '../core/full-pull-time.ts';
import type { Difference } from '../core/verify/difference.ts';
import { foreseeGuard, type Foreseen } from '../core/verify/foresee-guard.ts';
import type { TenantCollection } from '../session/tenant-parts.ts';
import type { VerifyTools } from './verify-tools.ts';

/** Distinguishes removals that need a decision from those that follow when another full sync misses the rows too. */
export async function foreseeWithholding(
  { log, parts }: VerifyTools,
  { name, fullPull }: Pick<TenantCollection, 'name' | 'fullPull'>,
  found: {
    readonly differences: readonly Difference[];
    readonly isLoss: (difference: Difference) => boolean;
    readonly topicKeys: number;
    readonly signal: AbortSignal;
  },
): Promise<Foreseen> {
  const { differences, isLoss, topicKeys, signal } = found;
  const { progress } = await log.progress(signal);
  const held = parts.collections.map((each) => ({
    collection: each.name,
    heldSinceMs: progress.get(each.name)?.deletions?.heldSinceMs ?? null,
  }));
  const own = progress.get(name)?.deletions;
  const today = localDate(parts.runtime.now(), fullPull.timeZone);
  const others = isOtherHeld(name, held) ? 'removals of another collection need a decision' : null;
  return foreseeGuard(differences, {
    isLoss,
    topicKeys,
    removedToday: own?.day === today ? own.removed : 0,
    limits: parts.guard,
    whyWithheld: own?.heldSinceMs == null ? others : 'earlier removals need a decision',
  });
}
