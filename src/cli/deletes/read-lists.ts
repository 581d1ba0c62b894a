import type { TenantConfig } from '../../config.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import { readWithheldList, type WithheldList } from '../../pipeline/requests/read-withheld-list.ts';
import { readKnownProgress } from '../../log/progress-reader.ts';
import { withAdmin } from '../with-assembly.ts';

export type Scope = readonly {
  readonly tenant: TenantConfig;
  readonly collections: readonly CollectionName[];
}[];

/** The withheld lists of one tenant; collections without withheld deletions are absent. */
export interface TenantLists {
  readonly tenant: string;
  readonly collections: readonly WithheldList[];
}

const ATTEMPTS = 5;

/** Reads the withheld lists from Redis and the progress topics. Writes nothing, needs no owner. Throws `INDEX_…`, `KAFKA_…`. */
export async function readLists(
  assembly: Assembly,
  { scope, signal }: { scope: Scope; signal: AbortSignal },
): Promise<readonly TenantLists[]> {
  const tenantIds = scope.map(({ tenant }) => tenant.id);
  let known = await readLog(assembly, { tenantIds, signal });
  for (let attempt = 1; ; attempt += 1) {
    const lists = await readFromIndex(assembly, { scope, known });
    const lost = lists.flatMap(({ tenant, collections }) =>
      collections.flatMap(({ collection, keys }) => (keys.length === 0 ? [{ tenant, collection }] : [])),
    );
    if (lost.length === 0 || attempt === ATTEMPTS) return lists;
    // A commit between the reads of log and index looks like a lost list: only an unchanged log proves a loss.
    const before = known;
    known = await readLog(assembly, { tenantIds, signal });
    const hasMoved = lost.some(
      ({ tenant, collection }) =>
        transactionOf(before, tenant, collection) !== transactionOf(known, tenant, collection),
    );
    if (!hasMoved) return lists;
  }
}

type Known = Awaited<ReturnType<typeof readKnownProgress>>;

function readLog(
  assembly: Assembly,
  { tenantIds, signal }: { tenantIds: readonly string[]; signal: AbortSignal },
): Promise<Known> {
  const { kafka, registry, config } = assembly;
  const { topicPrefix } = config.kafka;
  return withAdmin({ assembly, signal }, (admin) =>
    readKnownProgress({ kafka, admin, registry, topicPrefix, tenantIds, signal }),
  );
}

function transactionOf(known: Known, tenant: string, collection: CollectionName): string | undefined {
  return known.get(tenant)?.progress.get(collection)?.transactionId;
}

async function readFromIndex(
  assembly: Assembly,
  { scope, known }: { scope: Scope; known: Known },
): Promise<TenantLists[]> {
  const lists: TenantLists[] = [];
  for (const { tenant, collections } of scope) {
    const { deletions } = assembly.store.tenant(tenant.id);
    const found: WithheldList[] = [];
    for (const collection of collections) {
      const progress = known.get(tenant.id)?.progress.get(collection) ?? null;
      found.push(await readWithheldList(deletions, collection, progress));
    }
    lists.push({ tenant: tenant.id, collections: found.filter(({ count }) => count > 0) });
  }
  return lists;
}
