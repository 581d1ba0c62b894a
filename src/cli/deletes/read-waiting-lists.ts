import { syncedCollections, type TenantConfig } from '../../config.ts';
import { readKnownProgress, type KnownProgress } from '../../log/progress-reader.ts';
import type { Assembly } from '../../session/assemble.ts';
import { readWaiting, type Waiting } from '../../sync/read-waiting.ts';
import { withAdmin } from '../with-assembly.ts';

/** What waits for a decision in a tenant, with its log. */
export interface WaitingTenant extends Waiting {
  readonly tenant: string;
  readonly known: KnownProgress | null;
}

const ATTEMPTS = 3;

/** Reads `progress` and Redis. Writes nothing, needs no owner. Throws `INDEX_…`, `KAFKA_…`. */
export async function readWaitingLists(
  assembly: Assembly,
  { tenants, signal }: { tenants: readonly TenantConfig[]; signal: AbortSignal },
): Promise<readonly WaitingTenant[]> {
  const { kafka, registry, config } = assembly;
  const { topicPrefix } = config.kafka;
  const tenantIds = tenants.map(({ id }) => id);
  for (let attempt = 1; ; attempt += 1) {
    const logs = await withAdmin({ assembly, signal }, (admin) =>
      readKnownProgress({ kafka, admin, registry, topicPrefix, tenantIds, signal }),
    );
    const waiting: WaitingTenant[] = [];
    for (const tenant of tenants) {
      const known = logs.get(tenant.id) ?? null;
      const names = syncedCollections(tenant).map(({ name }) => name);
      const progress = new Map(names.map((name) => [name, known?.progress.get(name) ?? null]));
      const { deletions } = assembly.store.tenant(tenant.id);
      waiting.push({ tenant: tenant.id, known, ...(await readWaiting(deletions, progress)) });
    }
    // A sync that ended between the reads of log and Redis looks like a lost list.
    const isLost = waiting.some(({ collections }) => collections.some((each) => each.isLost));
    if (!isLost || attempt === ATTEMPTS) return waiting;
  }
}
