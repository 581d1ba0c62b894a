import type { ChainState, ChainRow, VersionEntry } from './chain-state.ts';

/**
 * An id that so many versions refer to is none of a version: a placeholder, as where a hub fills in the same text for
 * "none". Sound chains have two such references, forks a few more. Without a bound all these versions would be one chain.
 */
export const PLACEHOLDER_REFERENCES = 100;

/** Whether the index has met a crowd around an id: its references are not followed, and no more are noted. */
export function isKnownPlaceholder(entry: VersionEntry | null | undefined): boolean {
  return entry !== null && entry !== undefined && entry.linkedFrom.length >= PLACEHOLDER_REFERENCES;
}

/** The ids that too many versions refer to, as the index knows it or among those at hand. */
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
