import { createHash } from 'node:crypto';
import type { CollectionName } from '../../model/collections.ts';
import { MISSES_NEEDED } from './evidence.ts';
import type { MissingKeys } from './decide-missing.ts';

const DIGEST_CHARACTERS = 12;

/** The missing rows of a collection, and its hold. */
export interface MissingOfCollection {
  readonly collection: CollectionName;
  /** Null: none is remembered, or what is remembered is void. */
  readonly keys: MissingKeys | null;
  /** When its hold began, ms since the epoch; null: it is not on hold. */
  readonly onHoldSinceMs: number | null;
}

/** The rows of a collection that wait for a decision. */
export interface WaitingRows {
  readonly collection: CollectionName;
  /** Sorted. */
  readonly keys: readonly string[];
  /** When each of the keys was first missed. */
  readonly misses: MissingKeys;
  readonly isOnHold: boolean;
  /** The collection is on hold, and its keys are lost: the next complete full sync lists them. */
  readonly isLost: boolean;
}

/**
 * The rows of a tenant that wait for a decision: all missing rows of collections on hold, and the confirmed missing
 * rows of the other collections, which are removed once no collection is on hold. A hold of `schedules` concerns only
 * `schedules`.
 */
export function waitingList(tenant: readonly MissingOfCollection[]): readonly WaitingRows[] {
  return tenant.flatMap((each) => {
    const isOnHold = each.onHoldSinceMs !== null;
    if (!isOnHold && !isOtherOnHold(each.collection, tenant)) return [];
    // A row that was missed less often waits for the next full sync, not for a decision.
    const keys = [...(each.keys ?? [])]
      .filter(([, { times }]) => isOnHold || times >= MISSES_NEEDED)
      .map(([key]) => key)
      .sort();
    if (keys.length === 0 && !isOnHold) return [];
    return [
      {
        collection: each.collection,
        keys,
        misses: each.keys ?? new Map(),
        isOnHold,
        isLost: isOnHold && each.keys === null,
      },
    ];
  });
}

/** Whether another collection's hold keeps the removals of this one. Schedules come from another service with rights of its own. */
export function isOtherOnHold(
  collection: CollectionName,
  tenant: readonly Pick<MissingOfCollection, 'collection' | 'onHoldSinceMs'>[],
): boolean {
  return tenant.some(
    (each) =>
      each.onHoldSinceMs !== null && each.collection !== collection && each.collection !== 'schedules',
  );
}

/**
 * A digest (12 hex digits) of rows that wait, and of when each was first missed: an approval of rows that came back, and went
 * missing again, approves nothing.
 */
export function digestOf(list: readonly Pick<WaitingRows, 'collection' | 'keys' | 'misses'>[]): string {
  const lines = list.flatMap(({ collection, keys, misses }) =>
    keys.map((key) => JSON.stringify([collection, key, misses.get(key)?.sinceMs])),
  );
  const text = lines.sort().join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_CHARACTERS);
}
