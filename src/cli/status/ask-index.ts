import { syncedCollections, type TenantConfig } from '../../config.ts';
import { describeError, RollcallError } from '../../errors.ts';
import { isCollectionName, type CollectionName } from '../../model/collections.ts';
import type { Assembly } from '../../session/assemble.ts';
import { reasonsFromText } from '../../core/health/status-json.ts';
import type { KnownContradictions, TenantFacts } from '../../core/health/tenant-facts.ts';
import type { LateNote } from '../../core/late-rows.ts';
import { decodeOddities } from '../../core/absences/entry-codec.ts';
import type { CollectionIndex } from '../../state/index-store.ts';

/** Facts of a tenant that only the index has. */
export interface IndexFacts extends Pick<
  TenantFacts,
  'isOwnerAlive' | 'reported' | 'hubSkewMs' | 'notOffered' | 'wrongTenant' | 'contradictions'
> {
  /** Rows that incremental syncs missed, by collection. */
  readonly late: ReadonlyMap<CollectionName, LateNote>;
  readonly committedAtMs: ReadonlyMap<CollectionName, number | null>;
}

const UNKNOWN: IndexFacts = {
  isOwnerAlive: null,
  notOffered: [],
  wrongTenant: [],
  contradictions: null,
  late: new Map(),
  committedAtMs: new Map(),
};

export interface AskedIndex {
  /** Why the index could not be read; null when it could. */
  readonly trouble: string | null;
  factsOf(tenantId: string): IndexFacts;
}

/** Reads the facts that only the index has, for each tenant; stops at the first failure. */
export async function askIndex(assembly: Assembly, tenants: readonly TenantConfig[]): Promise<AskedIndex> {
  const found = new Map<string, IndexFacts>();
  if (assembly.config.redis === undefined) {
    return {
      trouble:
        'no Redis is configured: it is unknown whether a process is running, what the hub does not offer, and which absences are contradictory',
      factsOf: () => UNKNOWN,
    };
  }
  try {
    for (const tenant of tenants) {
      found.set(tenant.id, await askTenant(assembly, tenant));
    }
    return { trouble: null, factsOf: (id) => found.get(id) ?? UNKNOWN };
  } catch (error) {
    const why = describeError(error);
    const remedy = error instanceof RollcallError ? error.remedy : 'Check redis.url.';
    return {
      trouble: `${why}; it is unknown whether a process is running, and which absences are contradictory`,
      factsOf: (id) => ({
        ...(found.get(id) ?? UNKNOWN),
        reported: [{ part: 'redis', tenant: id, why, remedy }],
      }),
    };
  }
}

async function askTenant({ store }: Assembly, tenant: TenantConfig): Promise<IndexFacts> {
  const state = store.tenant(tenant.id);
  const committedAtMs = new Map<CollectionName, number | null>();
  for (const { name } of syncedCollections(tenant)) {
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
  const wrongTenant = (owner?.info['wrongTenant'] ?? '').split(' ').filter(isCollectionName);
  return {
    isOwnerAlive: owner !== null,
    reported: reasonsFromText(owner?.info['reasons'] ?? '', tenant.id),
    hubSkewMs: Number(owner?.info['hubSkewMs'] ?? 0) || 0,
    notOffered,
    wrongTenant,
    late,
    committedAtMs,
    contradictions,
  };
}

/** Entries of the index to read at most: `status` must not take long on the index of a county. */
export const MOST_READ = 5_000;
const MOST_SHOWN = 5;

/** Reads at most {@link MOST_READ} contradictory absences from the index of `absence-versions`. */
export async function readContradictions(
  index: Pick<CollectionIndex, 'count' | 'entries'>,
): Promise<KnownContradictions> {
  const count = await index.count('contradictions');
  const entries = new Map<string, Buffer>();
  if (count > 0) {
    for await (const batch of index.entries('contradictions')) {
      for (const [key, value] of batch) entries.set(key, value);
      if (entries.size >= MOST_READ) break;
    }
  }
  const all = [...entries]
    .slice(0, MOST_READ)
    .map(([absenceId, value]) => Object.assign({ absenceId }, decodeOddities(value)))
    .sort(byGravity);
  return {
    isAtLeast: all.length === MOST_READ && count > MOST_READ,
    absences: all.length,
    links: all.reduce((sum, { links }) => sum + links, 0),
    students: all.reduce((sum, { students }) => sum + students, 0),
    first: all.slice(0, MOST_SHOWN),
  };
}

type Found = KnownContradictions['first'][number];

/** Another student is graver than a link. */
function byGravity(one: Found, other: Found): number {
  const difference = other.students - one.students || other.links - one.links;
  if (difference !== 0) return difference;
  return one.absenceId < other.absenceId ? -1 : 1;
}
