import { localDate } from '../core/full-pull-time.ts';
import type { CollectionName } from '../model/collections.ts';
import type { TenantParts } from './tenant-parts.ts';

/** Days are counted in the time zone of a collection's daily full sync. */
export function dayCounter({
  collections,
}: Pick<TenantParts, 'collections'>): (collection: CollectionName, atMs: number) => string {
  const zones = new Map(collections.map(({ name, fullPull }) => [name, fullPull.timeZone]));
  return (collection, atMs) => localDate(atMs, zones.get(collection) ?? 'UTC');
}
