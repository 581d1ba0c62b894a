import { passCollections, type TenantConfig } from '../../config.ts';
import { describeError } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import { readContradictions, type KnownContradictions } from './contradictions.ts';

export interface IndexFacts {
  readonly isOwnerAlive: boolean;
  readonly notOffered: readonly string[];
  readonly withheld: ReadonlyMap<CollectionName, number>;
  readonly committedAtMs: ReadonlyMap<CollectionName, number | null>;
  /** Null where absences are not mirrored. */
  readonly contradictions: KnownContradictions | null;
}

export interface AskedIndex {
  /** Why the index could not be asked; null when it could. */
  readonly trouble: string | null;
  readonly tenants: ReadonlyMap<string, IndexFacts>;
}

/** Asks the index of each tenant what only it tells; the first trouble ends that. */
export async function askIndex(assembly: Assembly, tenants: readonly TenantConfig[]): Promise<AskedIndex> {
  const found = new Map<string, IndexFacts>();
  if (assembly.config.redis === undefined) {
    return {
      trouble:
        'no Redis is configured: whether a process is running is unknown, as are contradictory absences; what is withheld is as the last full pass told it',
      tenants: found,
    };
  }
  try {
    for (const tenant of tenants) {
      found.set(tenant.id, await askTenant(assembly, tenant));
    }
    return { trouble: null, tenants: found };
  } catch (error) {
    return {
      trouble: `${describeError(error)}; what is withheld is as the log tells it; whether a process is running, and which absences are contradictory, is unknown`,
      tenants: found,
    };
  }
}

async function askTenant({ store }: Assembly, tenant: TenantConfig): Promise<IndexFacts> {
  const state = store.tenant(tenant.id);
  const withheld = new Map<CollectionName, number>();
  const committedAtMs = new Map<CollectionName, number | null>();
  for (const { name } of passCollections(tenant)) {
    withheld.set(name, (await state.deletions.withheld(name)).size);
    committedAtMs.set(name, (await state.collection(name).position())?.committedAtMs ?? null);
  }
  const owner = await store.coordination.livingOwner(tenant.id);
  const notOffered = (owner?.info['notOffered'] ?? '').split(' ').filter((name) => name !== '');
  const contradictions = tenant.collections.absences.enabled
    ? await readContradictions(state.collection('absence-versions'))
    : null;
  return { isOwnerAlive: owner !== null, notOffered, withheld, committedAtMs, contradictions };
}
