import type { IndexArea, IndexChange } from './index-store.ts';

/** What is left to do of some changes, by area: the last one of each key. */
export type LatestChanges = ReadonlyMap<IndexArea, ReadonlyMap<string, Buffer | null>>;

/**
 * By the areas of an index, in their order; a change in another one throws a `RangeError`.
 * Keys become what UTF-8 makes of them, as in Kafka: half a surrogate pair is the replacement character.
 */
export function latestChanges(areas: Iterable<IndexArea>, changes: readonly IndexChange[]): LatestChanges {
  const latest = new Map<IndexArea, Map<string, Buffer | null>>();
  for (const area of areas) latest.set(area, new Map());
  for (const { area, key, value } of changes) memberOf(latest, area).set(key.toWellFormed(), value);
  return latest;
}

/** What an index has of an area; throws a `RangeError` for an area that it has not. */
export function memberOf<T>(areas: ReadonlyMap<IndexArea, T>, area: IndexArea): T {
  const found = areas.get(area);
  if (found === undefined) throw new RangeError(`no area '${area}' in the index of this collection`);
  return found;
}
