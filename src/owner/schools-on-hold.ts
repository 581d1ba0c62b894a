import type { WaitingRows } from '../core/deletions/waiting-list.ts';
import { UndecodableRecord } from '../log/registry/registry-errors.ts';
import { TopicReader } from '../log/read-only-log.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { Assembly } from '../session/assemble.ts';

/** How many rows of a school wait for a decision: whether the hub has really lost them shows at a glance. */
export interface SchoolCount {
  readonly id: string;
  /** Null where it is unknown. */
  readonly name: string | null;
  readonly rows: number;
}

/**
 * Counts rows on hold by the school that their last record in the topic names, the largest first. Reads the topic and `orgs`
 * from the beginning. Throws `KAFKA_…`, `REGISTRY_…`.
 */
export async function readSchoolsOnHold(
  { tenant, registry }: Pick<Assembly, 'tenant' | 'registry'>,
  options: { tenantId: string; list: Pick<WaitingRows, 'collection' | 'keys'>; signal: AbortSignal },
): Promise<readonly SchoolCount[]> {
  const { collection, keys } = options.list;
  if (keys.length === 0) return [];
  const wanted = new Set(keys);
  const schools = new Map<string, string | null>();
  const names = new Map<string, string | null>();
  const log = tenant(options.tenantId).openReadOnlyLog();
  const topics = new Set<TopicSuffix>(['orgs', collection]);
  const reader = new TopicReader({ log }, [...topics], async ({ topic, key, value }) => {
    const isWanted = topic === collection && wanted.has(key);
    if (value === null || (!isWanted && topic !== 'orgs')) return;
    // The registry may have lost the schema of a record from another version of this program: then its school is unknown.
    const row = await registry.decode(value, [topic]).catch((error: unknown) => {
      if (error instanceof UndecodableRecord) return null;
      throw error;
    });
    if (isWanted) schools.set(key, schoolOf(row));
    if (topic === 'orgs') names.set(key, textIn(row, 'name'));
  });
  await reader.readOn(options.signal);
  return countBySchool(schools.values(), names);
}

export function countBySchool(
  schools: Iterable<string | null>,
  names: ReadonlyMap<string, string | null>,
): readonly SchoolCount[] {
  return [...Map.groupBy(schools, (id) => id)]
    .flatMap(([id, all]) => (id === null ? [] : { id, name: names.get(id) ?? null, rows: all.length }))
    .toSorted((one, other) => other.rows - one.rows || (one.id < other.id ? -1 : 1));
}

/** The id of the school that a published row names: a user's main one, or that of its first role. Null for none. */
export function schoolOf(row: unknown): string | null {
  const { school: named, org, primaryOrg, roles } = (row ?? {}) as Readonly<Record<string, unknown>>;
  const [role] = Array.isArray(roles) ? (roles as readonly ({ readonly org?: unknown } | null)[]) : [];
  const [school] = [named].flat();
  return [school, org, primaryOrg, role?.org].map((each) => textIn(each, 'sourcedId')).find(Boolean) ?? null;
}

function textIn(value: unknown, name: string): string | null {
  const text = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return typeof text === 'string' ? text : null;
}
