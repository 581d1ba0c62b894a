import type { IndexArea, IndexChange } from './index-store.ts';

/** The last change of each key, by area. */
export type LatestChanges = ReadonlyMap<IndexArea, ReadonlyMap<string, Buffer | null>>;

/**
 * Groups changes by the areas of an index, in the order of the areas; throws a `RangeError` for another area.
 * A lone surrogate in a key becomes the replacement character, as in Kafka.
 */
export function latestChanges(areas: Iterable<IndexArea>, changes: readonly IndexChange[]): LatestChanges {
  const latest = new Map<IndexArea, Map<string, Buffer | null>>();
  for (const area of areas) latest.set(area, new Map());
  for (const { area, key, value } of changes) memberOf(latest, area).set(key.toWellFormed(), value);
  return latest;
}

/** Returns the entry of an area; throws a `RangeError` for an area that the index lacks. */
export function memberOf<T>(areas: ReadonlyMap<IndexArea, T>, area: IndexArea): T {
  const found = areas.get(area);
  if (found === undefined) throw new RangeError(`no area '${area}' in the index of this collection`);
  return found;
}
