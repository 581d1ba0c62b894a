import type { CollectionName } from '../model/collections.ts';
import type { CollectionRunner } from './collection-runner.ts';

/** Runs a task for each collection, nested collections last. The results are in the given order. */
export async function parentsFirst<T>(
  runners: ReadonlyMap<CollectionName, Pick<CollectionRunner, 'hasParents'>>,
  collections: readonly CollectionName[],
  task: (collection: CollectionName) => Promise<T>,
): Promise<readonly T[]> {
  const results = new Map<CollectionName, T>();
  const run = async (collection: CollectionName): Promise<void> => {
    results.set(collection, await task(collection));
  };
  const isLate = (collection: CollectionName): boolean => runners.get(collection)?.hasParents === true;
  await Promise.all(collections.filter((each) => !isLate(each)).map(run));
  await Promise.all(collections.filter(isLate).map(run));
  return collections.flatMap((collection) => results.get(collection) ?? []);
}
