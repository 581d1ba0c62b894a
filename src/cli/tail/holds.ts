import type { TenantConfig } from '../../config.ts';
import { named } from '../../core/health/decisions.ts';
import type { CollectionName } from '../../model/collections.ts';
import { topicName } from '../../model/topic-names.ts';
import type { Assembly } from '../../session/assemble.ts';
import type { Waiting } from '../../sync/read-waiting.ts';
import { readTenantProgress, waitingOf } from '../verb-parts.ts';

/** Says for each tenant whether a hold keeps rows that contain the id. `contains`: whether the last record of a key contains it. */
export async function sayHolds(
  assembly: Assembly,
  tenants: readonly TenantConfig[],
  { contains, signal }: { contains: (topic: string, key: string) => boolean; signal: AbortSignal },
): Promise<string[]> {
  const { topicPrefix } = assembly.config.kafka;
  // A reader may lack the right to read `progress`, or access to Redis. Then it is not known what is on hold.
  const logs = readTenantProgress(assembly, tenants, signal);
  const sentences = tenants.map(async (tenant) => {
    const ofTenant = logs.then((all) => waitingOf(assembly, tenant, all.get(tenant.id)));
    const waiting = await ofTenant.catch(() => null);
    const topicOf = (name: CollectionName) => topicName({ topicPrefix, tenantId: tenant.id }, name);
    return sayHold(tenant.id, waiting, (name, key) => contains(topicOf(name), key));
  });
  return Promise.all(sentences);
}

/** Whether the published row of a key contains the id that is searched for. */
type Contains = (collection: CollectionName, key: string) => boolean;

/** Says whether a hold keeps rows of a tenant that contain the id. `waiting`: what waits for a decision; null if this is not known. */
export function sayHold(tenantId: string, waiting: Waiting | null, contains: Contains): string {
  const { collections = [], foreign = [] } = waiting ?? {};
  const namesOf = (some: typeof collections) => some.map(({ collection }) => collection);
  const onHold = collections.filter((each) => each.keys.some((key) => contains(each.collection, key)));
  const list = `"rollcall deletes list --tenant ${tenantId}"`;
  if (onHold.length > 0)
    return `on hold in ${tenantId}: rows of ${namesOf(onHold).join(', ')}; they stay until a person has approved their removal (${list})`;
  const isWhole = collections.every(({ isLost, count, keys }) => !isLost && count === keys.length);
  if (waiting === null || !isWhole)
    return `on hold in ${tenantId}: not known, because the whole list of rows on hold could not be read (${list} says why)`;
  const others = [...namesOf(collections), ...foreign];
  // A hold of schedules stops no other removals.
  return others.every((name) => name === 'schedules')
    ? `on hold in ${tenantId}: none of these rows`
    : `on hold in ${tenantId}: none of these rows; but until a person has decided about ${named(others)}, Rollcall removes no row ("rollcall status --tenant ${tenantId}")`;
}
