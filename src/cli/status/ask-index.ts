import { syncedCollections, type TenantConfig } from '../../config.ts';
import { countUnconfigured, type LeftOfAfterschool } from '../../core/left-over.ts';
import { describeError, RollcallError } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import { countWaiting } from '../../pipeline/withheld-deletions.ts';
import type { NotReady } from '../../core/health/parts.ts';
import { reasonsFromText } from '../../core/health/heartbeat-reasons.ts';
import type { KnownContradictions } from '../../core/health/known-contradictions.ts';
import type { LateNote } from '../../core/late-rows.ts';
import type { CollectionIndex } from '../../state/index-store.ts';
import { readContradictions } from './read-contradictions.ts';

export interface KnownWithheld {
  /** Withheld deletions, including those beyond the size of a list. */
  readonly count: number;
  /** The full sync whose withheld deletions are decided. */
  readonly settledPassId: string | null;
}

export interface IndexFacts {
  readonly isOwnerAlive: boolean;
  /** What the running process reports about its parts. */
  readonly reported: readonly NotReady[];
  /** Hub clock minus its own, ms, as the running process measured it. */
  readonly hubSkewMs: number;
  readonly notOffered: readonly string[];
  /** Collections whose rows at the hub may be another tenant's. */
  readonly wrongTenant: readonly CollectionName[];
  /** Rows that incremental syncs missed, by collection. */
  readonly late: ReadonlyMap<CollectionName, LateNote>;
  readonly withheld: ReadonlyMap<CollectionName, KnownWithheld>;
  readonly committedAtMs: ReadonlyMap<CollectionName, number | null>;
  /** Null when absences are not mirrored. */
  readonly contradictions: KnownContradictions | null;
  /** The rows and rejects in the index, by afterschool that is not configured. */
  readonly unconfigured: ReadonlyMap<string, LeftOfAfterschool>;
}

export interface AskedIndex {
  /** Why the index could not be read; null when it could. */
  readonly trouble: string | null;
  /** Why no fact of a tenant is known, as a reason for not being ready; null when Redis answers, or none is configured. */
  readonly failure: { readonly why: string; readonly remedy: string } | null;
  readonly tenants: ReadonlyMap<string, IndexFacts>;
}

/** Reads the facts that only the index has, for each tenant; stops at the first failure. */
export async function askIndex(assembly: Assembly, tenants: readonly TenantConfig[]): Promise<AskedIndex> {
  const found = new Map<string, IndexFacts>();
  if (assembly.config.redis === undefined) {
    return {
      trouble:
        'no Redis is configured: it is unknown whether a process is running, what the hub does not offer, and which absences are contradictory; withheld deletions are those of the last full sync',
      failure: null,
      tenants: found,
    };
  }
  try {
    for (const tenant of tenants) {
      found.set(tenant.id, await askTenant(assembly, tenant));
    }
    return { trouble: null, failure: null, tenants: found };
  } catch (error) {
    return {
      trouble: `${describeError(error)}; withheld deletions are those in the log; it is unknown whether a process is running, and which absences are contradictory`,
      failure: {
        why: describeError(error),
        remedy: error instanceof RollcallError ? error.remedy : 'Check redis.url.',
      },
      tenants: found,
    };
  }
}

async function askTenant({ store }: Assembly, tenant: TenantConfig): Promise<IndexFacts> {
  const state = store.tenant(tenant.id);
  const withheld = new Map<CollectionName, KnownWithheld>();
  const committedAtMs = new Map<CollectionName, number | null>();
  for (const { name } of syncedCollections(tenant)) {
    const note = await state.deletions.note(name);
    const listed = (await state.deletions.withheld(name)).size;
    withheld.set(name, {
      count: countWaiting({ listed, note, progress: null }),
      settledPassId: note?.settledPassId ?? null,
    });
    committedAtMs.set(name, (await state.collection(name).position())?.committedAtMs ?? null);
  }
  const owner = await store.coordination.livingOwner(tenant.id);
  // A living process cannot renew its heartbeat in a Redis that takes no writes.
  if (owner === null) await store.ready();
  const mirrored = new Set<string>(syncedCollections(tenant).map(({ name }) => name));
  const notOffered = [...(await state.deletions.notOffered())].filter((name) => mirrored.has(name));
  const contradictions = tenant.collections.absences.enabled
    ? await readContradictions(state.collection('absence-versions'))
    : null;
  const late = await state.deletions.late();
  const wrongTenant = [...(await state.deletions.wrongTenant()).keys()];
  const unconfigured = await leftOfUnconfigured(state.collection('afterschool-users'), tenant);
  return {
    isOwnerAlive: owner !== null,
    reported: reasonsFromText(owner?.info['reasons'] ?? '', tenant.id),
    hubSkewMs: Number(owner?.info['hubSkewMs'] ?? 0) || 0,
    notOffered,
    wrongTenant,
    late,
    withheld,
    committedAtMs,
    contradictions,
    unconfigured,
  };
}

/** When the collection is not enabled, the entire topic is left over and reported as such. */
async function leftOfUnconfigured(
  index: CollectionIndex,
  { afterschools, collections }: TenantConfig,
): Promise<ReadonlyMap<string, LeftOfAfterschool>> {
  if (!collections['afterschool-users'].enabled) return new Map();
  const keys = { rows: new Set<string>(), rejects: new Set<string>() };
  for (const area of ['rows', 'rejects'] as const)
    for await (const batch of index.keys(area)) for (const key of batch) keys[area].add(key);
  return countUnconfigured(keys, afterschools);
}
