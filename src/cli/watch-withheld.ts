import { setTimeout as delay } from 'node:timers/promises';
import type { NamedGroups } from '../core/withheld-groups.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Waiting } from '../sync/read-waiting.ts';

type Groups = ReadonlyMap<CollectionName, readonly NamedGroups[]>;

/** A list changes with a full sync or a decision. */
const LOOK_EVERY_MS = 10_000;

/**
 * Counts the withheld deletions of each tenant by school, and again whenever its list changes, until the signal
 * aborts. What cannot be read now is read at the next look: the health says that it is away.
 */
export async function watchWithheld(parts: {
  readonly tenants: readonly string[];
  readonly readWaiting: (tenant: string) => Promise<Pick<Waiting, 'collections' | 'digest'>>;
  /** Reads topics from their beginning. */
  readonly readGroups: (tenant: string, lists: Waiting['collections']) => Promise<Groups>;
  readonly note: (tenant: string, groups: Groups) => void;
  readonly signal: AbortSignal;
  readonly sleep?: (ms: number) => Promise<void>;
}): Promise<void> {
  const { tenants, readWaiting, readGroups, note, signal } = parts;
  const sleep = parts.sleep ?? ((ms) => delay(ms, undefined, { signal }));
  /** By tenant, the digest of the list that was counted last. */
  const counted = new Map<string, string | null>();
  const lookAt = async (tenant: string): Promise<void> => {
    const { collections, digest } = await readWaiting(tenant);
    if (digest === (counted.get(tenant) ?? null)) return;
    note(tenant, await readGroups(tenant, collections));
    counted.set(tenant, digest);
  };
  for (;;) {
    await sleep(LOOK_EVERY_MS).catch(() => undefined);
    if (signal.aborted) return;
    for (const tenant of tenants) await lookAt(tenant).catch(() => undefined);
  }
}
