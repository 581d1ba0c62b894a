import { setTimeout as delay } from 'node:timers/promises';
import type { TenantStatus } from '../core/health/tenant-status.ts';
import type { NamedGroups } from '../core/withheld-groups.ts';
import type { CollectionName } from '../model/collections.ts';
import type { WithheldList } from '../pipeline/requests/read-withheld-list.ts';

type Groups = ReadonlyMap<CollectionName, readonly NamedGroups[]>;
type ShownList = Pick<WithheldList, 'collection' | 'keys' | 'digest'>;

/** A list changes with a full sync or a decision. */
const LOOK_EVERY_MS = 10_000;

/**
 * Counts the withheld deletions of each tenant by school, class and date, and again whenever a list changes, until the signal
 * aborts. What cannot be read now is read at the next look: the health says that it is away.
 */
export async function watchWithheld(parts: {
  readonly statuses: () => readonly TenantStatus[];
  readonly readList: (tenant: string, collection: CollectionName) => Promise<ShownList>;
  /** Reads topics from their beginning. */
  readonly readGroups: (tenant: string, lists: readonly ShownList[]) => Promise<Groups>;
  readonly note: (tenant: string, groups: Groups) => void;
  readonly signal: AbortSignal;
  readonly sleep?: (ms: number) => Promise<void>;
}): Promise<void> {
  const { statuses, signal } = parts;
  const sleep = parts.sleep ?? ((ms) => delay(ms, undefined, { signal }));
  const counted = new Map<string, string>();
  for (;;) {
    await sleep(LOOK_EVERY_MS).catch(() => undefined);
    if (signal.aborted) return;
    for (const status of statuses()) await lookAt(parts, status, counted).catch(() => undefined);
  }
}

/** `counted` names, by tenant, the lists that were counted last. */
async function lookAt(
  { readList, readGroups, note }: Parameters<typeof watchWithheld>[0],
  { tenant, collections }: TenantStatus,
  counted: Map<string, string>,
): Promise<void> {
  const lists: ShownList[] = [];
  for (const { collection, withheld } of collections)
    if (withheld > 0) lists.push(await readList(tenant, collection));
  const digests = lists.map(({ digest }) => digest).join(' ');
  if (digests === (counted.get(tenant) ?? '')) return;
  note(tenant, await readGroups(tenant, lists));
  counted.set(tenant, digests);
}
