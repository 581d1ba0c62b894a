import { groupingFields, groupWithheld, type NamedGroups } from '../core/withheld-groups.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { Assembly } from '../session/assemble.ts';
import type { WaitingRows } from '../core/deletions/waiting-list.ts';
import { TopicReader } from '../log/read-only-log.ts';

/** The topic, and the field of its rows, that names a school or a class. */
const NAMES = { school: ['orgs', 'name'], class: ['classes', 'title'], date: null } as const;

/**
 * Counts the withheld deletions of each list by school, class and date, as their last records in the topics have them.
 * Reads those topics from the beginning. Throws `KAFKA_…`, `REGISTRY_…`.
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
  const lastValues = async (
    topic: TopicSuffix,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, unknown>> => {
    const wanted = new Set(keys);
    const values = new Map<string, unknown>();
    const reader = new TopicReader({ log }, [topic], async ({ key, value }) => {
      if (value === null || !wanted.has(key)) return;
      // Of up to 100,000 rows only what is counted is kept.
      values.set(key, groupingFields(await assembly.registry.decode(value)));
    });
    if (wanted.size > 0) await reader.readOn(signal);
    return values;
  };
  try {
    const found = new Map<CollectionName, readonly NamedGroups[]>();
    for (const { collection, keys } of lists) {
      // The key of a lesson's day has its date already.
      const values = await lastValues(collection, collection === 'schedules' ? [] : keys);
      const groups = groupWithheld(
        collection,
        keys.map((key) => ({ key, value: values.get(key) ?? null })),
      );
      const named: NamedGroups[] = [];
      for (const { by, counts } of groups) {
        const [topic, field] = NAMES[by] ?? [null, ''];
        const ids = counts.map(({ id }) => id);
        const rows = topic === null ? new Map<string, unknown>() : await lastValues(topic, ids);
        named.push({
          by,
          counts: counts.map((each) => ({
            id: each.id,
            name: nameIn(rows.get(each.id), field),
            rows: each.rows,
          })),
        });
      }
      found.set(collection, named);
    }
    return found;
  } finally {
    await log.close();
  }
}

function nameIn(row: unknown, field: string): string | null {
  const name = (row as Readonly<Record<string, unknown>> | undefined)?.[field];
  return typeof name === 'string' ? name : null;
}
