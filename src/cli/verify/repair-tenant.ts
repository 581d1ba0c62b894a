import { sourceOf, type CollectionName } from '../../model/collections.ts';
import type { Difference } from '../../core/verify/difference.ts';
import type { Assembly } from '../../session/assemble.ts';
import type { PullOutcome } from '../../owner/pull.ts';
import { MAX_CORRUPT_KEYS, REPAIR, type RepairParameters } from '../../owner/repair.ts';
import { asOwner } from '../as-owner.ts';
import { confirmMissing } from '../confirm-missing.ts';
import type { ProgressLine } from '../progress-line.ts';

/** Has the owner repair what is wrong; null when there is nothing to repair. */
export async function repairTenant(
  assembly: Assembly,
  options: {
    tenantId: string;
    differences: readonly Difference[];
    progress: ProgressLine;
    signal: AbortSignal;
  },
): Promise<readonly PullOutcome[] | null> {
  const { tenantId, progress, signal } = options;
  const parameters = repairParameters(options.differences);
  if (parameters === null) return null;
  const outcomes = await asOwner(assembly, {
    tenantId,
    request: REPAIR,
    parameters,
    progress,
    onReport: (report) => {
      const { collection, what } = (report ?? {}) as { collection?: string; what?: string };
      const doing = what === 'index' ? 'rebuilding the index' : 'full sync';
      if (collection !== undefined) progress.update(`${tenantId}: ${doing}: ${collection}`);
    },
    signal,
  });
  return confirmMissing(assembly, { tenantId, outcomes, progress, signal });
}

/** What to repair, by source collection; null when there is nothing. */
export function repairParameters(differences: readonly Difference[]): RepairParameters | null {
  const wrong = differences.filter(({ state }) => state === 'wrong');
  const bySource = Map.groupBy(wrong, ({ collection }) => sourceOf(collection));
  if (bySource.size === 0) return null;
  return { collections: [...bySource].map(([name, some]) => corruptIn(name, some)) };
}

function corruptIn(
  name: CollectionName,
  differences: readonly Difference[],
): RepairParameters['collections'][number] {
  const keysOf = (kind: Difference['kind'], collection: CollectionName): string[] =>
    differences
      .filter((each) => each.kind === kind && each.collection === collection)
      .map(({ key }) => key)
      .slice(0, MAX_CORRUPT_KEYS);
  return {
    name,
    rows: keysOf('undecodable', name),
    rejects: keysOf('reject-missing', name),
    absences: differences
      .flatMap(({ collection, key }) => (collection === 'absences' ? key : []))
      .slice(0, MAX_CORRUPT_KEYS),
  };
}
