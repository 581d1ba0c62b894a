import { countBySchool, schoolOf, type NamedGroups } from '../core/withheld-groups.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { Assembly } from '../session/assemble.ts';
import type { WaitingRows } from '../core/deletions/waiting-list.ts';
import { TopicReader } from '../log/read-only-log.ts';

/**
 * Counts the withheld deletions of each list by school, as their last records in the topics have them.
 * Reads those topics and
 * `orgs` from the beginning. Throws `KAFKA_…`, `REGISTRY_…`.
 */
export async function readWithheldGroups(
  assembly: Pick<Assembly, 'tenant' | 'config' | 'registry'>,
  options: {
    tenantId: string;
    lists: readonly Pick<WaitingRows, 'collection' | 'keys'>[];
    signal: AbortSignal;
  },
): Promise<ReadonlyMap<CollectionName, readonly NamedGroups[]>> {
  const { tenantId, lists, signal } = options;
  const log = assembly.tenant(tenantId).openReadOnlyLog();
  /** Of up to 100,000 rows only what is counted is kept. */
  const lastOf = async (
    topic: TopicSuffix,
    keys: readonly string[],
    read: (row: unknown) => string | null,
  ): Promise<ReadonlyMap<string, string | null>> => {
    const wanted = new Set(keys);
    const found = new Map<string, string | null>();
    const reader = new TopicReader({ log }, [topic], async ({ key, value }) => {
      if (value !== null && wanted.has(key)) found.set(key, read(await assembly.registry.decode(value)));
    });
    if (wanted.size > 0) await reader.readOn(signal);
    return found;
  };
  try {
    const found = new Map<CollectionName, readonly NamedGroups[]>();
    for (const { collection, keys } of lists) {
      const rows = await lastOf(collection, keys, schoolOf);
      const counts = countBySchool([...rows.values()].filter((id) => id !== null));
      const names = await lastOf(
        'orgs',
        counts.map(({ id }) => id),
        nameOf,
      );
      const named = counts.map(({ id, rows }) => ({ id, name: names.get(id) ?? null, rows }));
      found.set(collection, named.length === 0 ? [] : [{ by: 'school', counts: named }]);
    }
    return found;
  } finally {
    await log.close();
  }
}

function nameOf(row: unknown): string | null {
  const { name } = row as { readonly name?: unknown };
  return typeof name === 'string' ? name : null;
}
