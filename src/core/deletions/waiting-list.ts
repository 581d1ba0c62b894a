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
  const onHold = tenant.flatMap((each) => (each.onHoldSinceMs === null ? [] : [each.collection]));
  return tenant.flatMap(({ collection, keys: missing }) => {
    const isOnHold = onHold.includes(collection);
    if (!isOnHold && !isOtherOnHold(collection, onHold)) return [];
    const misses: MissingKeys = missing ?? new Map();
    // A row that was missed less often waits for the next full sync, not for a decision.
    const keys = [...misses]
      .filter(([, { times }]) => isOnHold || times >= MISSES_NEEDED)
      .map(([key]) => key)
      .sort();
    if (keys.length === 0 && !isOnHold) return [];
    return [{ collection, keys, misses, isOnHold, isLost: isOnHold && missing === null }];
  });
}

/** Whether another collection's hold stops the removals of this one. Schedules come from another service with rights of its own. */
export function isOtherOnHold(collection: CollectionName, onHold: readonly CollectionName[]): boolean {
  return onHold.some((each) => each !== collection && each !== 'schedules');
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
