import type { Schools } from '../core/deletions/parts.ts';
import { topicReader } from '../log/read-only-log.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { Assembly } from '../session/assemble.ts';

/** The schools of published rows, and the names of organisations by their ids. */
export interface KnownSchools {
  readonly schools: Schools;
  readonly names: ReadonlyMap<string, string | null>;
}

/**
 * Reads which school the last record of each published row names. Reads the topics of these collections and `orgs` from the
 * beginning, and keeps every key in memory: for a command, not for a process that mirrors. Throws `KAFKA_…`, `REGISTRY_…`.
 */
export async function readSchools(
  { tenant, registry }: Pick<Assembly, 'tenant' | 'registry'>,
  options: { tenantId: string; collections: readonly CollectionName[]; signal: AbortSignal },
): Promise<KnownSchools> {
  const schools = new Map(options.collections.map((name) => [name, new Map<string, string | null>()]));
  const names = new Map<string, string | null>();
  const ids = new Map<string | null, string | null>();
  const log = tenant(options.tenantId).openReadOnlyLog();
  const topics = new Set<TopicSuffix>(['orgs', ...options.collections]);
  const reader = topicReader(log, [...topics], async ({ topic, key, value }) => {
    const ofRows = schools.get(topic as CollectionName);
    if (value === null) return void ofRows?.delete(key);
    // The registry may have lost the schema of a record from another version of this program: then its school is unknown.
    const row = await registry.decodeOrNull(value, [topic]);
    if (topic === 'orgs') names.set(key, textIn(row, 'name'));
    const id = topic === 'orgs' ? key : schoolOf(row);
    // One copy of each id, instead of one for each row.
    if (!ids.has(id)) ids.set(id, id);
    ofRows?.set(key, ids.get(id) ?? null);
  });
  await reader.readOn(options.signal);
  return { schools, names };
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
