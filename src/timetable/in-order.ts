import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';

/** What the turn of a collection depends on. */
export interface InTurn {
  readonly parents: CollectionName | undefined;
  readonly progress: Progress | null;
}

/**
 * Runs a task for each collection, for `pull` and `plan` only: while a tenant is mirrored, each collection has its own
 * loop, and a nested collection waits there for its parents (collection-runner.ts). Collections on hold come first,
 * because the removals of the others wait for the end of the hold. Nested collections come after their parents. The
 * results are in the order of the given collections.
 */
export async function inOrder<T>(
  runners: ReadonlyMap<CollectionName, InTurn>,
  collections: readonly CollectionName[],
  task: (collection: CollectionName) => Promise<T>,
): Promise<readonly T[]> {
  const results = new Map<CollectionName, T>();
  const parentsOf = (collection: CollectionName) => runners.get(collection)?.parents;
  const onHold = collections.filter((each) => runners.get(each)?.progress?.deletions?.onHoldSinceMs != null);
  const first = new Set(onHold.flatMap((each) => [each, parentsOf(each) ?? each]));
  const turnOf = (each: CollectionName): number =>
    (first.has(each) ? 0 : 2) + (parentsOf(each) === undefined ? 0 : 1);
  for (const turn of [0, 1, 2, 3]) {
    const run = async (each: CollectionName) => results.set(each, await task(each));
    await Promise.all(collections.filter((each) => turnOf(each) === turn).map(run));
  }
  return collections.flatMap((collection) => results.get(collection) ?? []);
}
