import type { ChainState, ChainRow, VersionEntry } from './chain-state.ts';

/**
 * An id that more versions refer to is a placeholder, as where a hub writes the same text for "none". Chains without
 * contradictions have two such references, forks a few more. Without this bound all these versions would be one chain.
 */
export const PLACEHOLDER_REFERENCES = 100;

/** Whether the index knows an id as a placeholder. Its links are not followed, and no more of them are stored. */
export function isKnownPlaceholder(entry: VersionEntry | null | undefined): boolean {
  return entry !== null && entry !== undefined && entry.linkedFrom.length >= PLACEHOLDER_REFERENCES;
}

/** The placeholder ids: known to the index, or referred to by too many of the given versions. */
export function placeholdersIn(
  versions: Iterable<Pick<ChainRow, 'id' | 'replaces' | 'replacedBy'>>,
  chainState: ChainState,
): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const placeholders = new Set<string>();
  const refer = (from: string, to: string | null): void => {
    if (to === null || to === from || placeholders.has(to)) return;
    const count = (counts.get(to) ?? 0) + 1;
    counts.set(to, count);
    if (count > PLACEHOLDER_REFERENCES || isKnownPlaceholder(chainState.versions.get(to)))
      placeholders.add(to);
  };
  for (const { id, replaces, replacedBy } of versions) {
    refer(id, replaces);
    if (replacedBy !== replaces) refer(id, replacedBy);
  }
  return placeholders;
}
