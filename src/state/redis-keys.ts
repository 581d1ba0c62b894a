import type { CollectionName } from '../model/collections.ts';
import { areasOf, type IndexArea } from './index-store.ts';

/*
 * The layout in Redis. `<p>` is the configured key prefix, `<t>` a tenant id, `<c>` a collection. All keys of a tenant have the
 * same text in braces, so they are in one slot of a Redis Cluster, and one script or transaction may use them together.
 *
 *   {<p>:<t>}:<c>:<area>     hash    key → value; each area of the collection's index (`index-store.ts`)
 *   {<p>:<t>}:<c>:position   hash    transactionId   the last transaction in the index; '' unknown
 *                                    position        JSON
 *                                    <area>Count     number of keys in the area's hash; it reveals an area
 *                                                    that was evicted or deleted without its position
 *                                    replay          token of a replay that has not finished
 *   {<p>:<t>}:<c>:missing    hash    `=<key>` → since when, ms since the epoch, and how often full syncs have
 *                                    missed it; `sync` → the id of the list, and when the confirming sync is due (JSON)
 *   {<p>:<t>}:owner          hash    the heartbeat: owner, ownedSinceMs, and its facts by name; expires
 *   {<p>:<t>}:requests       list    requests to the owner, JSON, oldest first; expires
 *   {<p>:<t>}:answer:<id>    string  progress or outcome of a request, JSON; expires
 *   {<p>}:probe:<random>     hash    exists for a moment, at the start
 */

export type TenantKeys = ReturnType<typeof tenantKeys>;
export type CollectionKeys = ReturnType<TenantKeys['collection']>;

export function tenantKeys(keyPrefix: string, tenantId: string) {
  const tenant = `{${keyPrefix}:${tenantId}}`;
  return {
    owner: `${tenant}:owner`,
    requests: `${tenant}:requests`,
    answer: (requestId: string) => `${tenant}:answer:${requestId}`,
    collection(name: CollectionName) {
      const collection = `${tenant}:${name}`;
      return {
        /** In the order of the collection's areas. */
        areas: new Map(areasOf(name).map((area) => [area, `${collection}:${area}`])),
        position: `${collection}:position`,
        missing: `${collection}:missing`,
      };
    },
  };
}

/** Returns the field of `position` with the number of keys of an area. */
export function countField(area: IndexArea): string {
  return `${area}Count`;
}

export function probeKey(keyPrefix: string, random: string): string {
  return `{${keyPrefix}}:probe:${random}`;
}
