import type { Contradiction } from '../../core/chains/contradictions.ts';
import type { IndexChange } from '../../state/index-store.ts';

/**
 * The index changes that replace the reported contradictions by those found; the key is the first version that each
 * names.
 */
export function contradictionChanges(
  found: readonly Contradiction[],
  known: { versionIds: readonly string[]; reported: readonly (Buffer | null)[] },
): IndexChange[] {
  const area = 'contradictions';
  const byFirst = Map.groupBy(found, ({ versionIds }) => versionIds[0] ?? '');
  const changes: IndexChange[] = [...byFirst].map(([key, some]) => ({
    area,
    key,
    value: Buffer.from(JSON.stringify(some)),
  }));
  for (const [at, key] of known.versionIds.entries()) {
    if (!byFirst.has(key) && (known.reported[at] ?? null) !== null) changes.push({ area, key, value: null });
  }
  return changes;
}
