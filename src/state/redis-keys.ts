import type { CollectionName } from '../model/collections.ts';
import { areasOf } from './index-store.ts';
import type { IndexArea } from './index-store.ts';

/*
 * What stands in Redis. `<p>` is the configured key prefix, `<t>` a tenant id. All keys between the same braces
 * are in one slot of a Redis Cluster, so that a script may touch them together.
 *
 *   {<p>:<t>:<collection>}:<area>     hash    key → value; each area of the collection's index (`index-store.ts`)
 *   {<p>:<t>:<collection>}:position   hash    transactionId   of the last transaction reflected; '' unknown
 *                                             position        JSON
 *                                             <area>Count     length of the area's hash: one that was evicted or
 *                                                             deleted beside its position shows
 *                                             replay          token of a replay that has not finished
 *   {<p>:<t>:<collection>}:missing    hash    key → pass that missed it first
 *   {<p>:<t>:<collection>}:withheld   hash    key → since when, ms since the epoch
 *   {<p>:<t>}:tripped                 hash    collection that tripped the guard by itself → 1
 *   {<p>:<t>}:notes                   hash    collection → what else is remembered of its removals (JSON)
 *   {<p>:<t>}:foreign                 hash    collection that came with quite other rows → since when, ms
 *   {<p>:<t>}:not-offered             hash    collection that the hub does not offer → 1
 *   {<p>:<t>}:late                    hash    collection → rows that deltas have missed (JSON)
 *   {<p>:<t>}:removed:<day>           hash    collection → removals published that day; expires after 8 days
 *   {<p>:<t>}:owner                   hash    owner, ownedSinceMs, info (JSON); expires when the owner falls silent
 *   {<p>:<t>}:requests                list    requests to the owner, JSON, oldest first; expires
 *   {<p>:<t>}:asker:<id>              string  there while somebody waits for the answer to a request; expires
 *   {<p>:<t>}:answer:<id>             string  how far a request is, JSON; expires
 *   {<p>}:probe:<random>              hash    lives for a moment, at the start
 */

export interface CollectionKeys {
  /** In the order of the collection's areas. */
  readonly areas: ReadonlyMap<IndexArea, string>;
  readonly position: string;
  readonly missing: string;
  readonly withheld: string;
}

export interface TenantKeys {
  readonly owner: string;
  readonly requests: string;
  asker(requestId: string): string;
  answer(requestId: string): string;
  /** `day` is `YYYY-MM-DD`. */
  readonly tripped: string;
  readonly notes: string;
  readonly wrongTenant: string;
  readonly notOffered: string;
  readonly late: string;
  removed(day: string): string;
  collection(name: CollectionName): CollectionKeys;
}

export function tenantKeys(keyPrefix: string, tenantId: string): TenantKeys {
  const tenant = `{${keyPrefix}:${tenantId}}`;
  return {
    owner: `${tenant}:owner`,
    requests: `${tenant}:requests`,
    asker: (requestId) => `${tenant}:asker:${requestId}`,
    answer: (requestId) => `${tenant}:answer:${requestId}`,
    tripped: `${tenant}:tripped`,
    notes: `${tenant}:notes`,
    wrongTenant: `${tenant}:foreign`,
    notOffered: `${tenant}:not-offered`,
    late: `${tenant}:late`,
    removed: (day) => `${tenant}:removed:${day}`,
    collection(name) {
      const collection = `{${keyPrefix}:${tenantId}:${name}}`;
      return {
        areas: new Map(areasOf(name).map((area) => [area, `${collection}:${area}`])),
        position: `${collection}:position`,
        missing: `${collection}:missing`,
        withheld: `${collection}:withheld`,
      };
    },
  };
}

/** Field of `position` that holds the number of keys of an area. */
export function countField(area: IndexArea): string {
  return `${area}Count`;
}

export function probeKey(keyPrefix: string, random: string): string {
  return `{${keyPrefix}}:probe:${random}`;
}
