import { groupWithheld, type WithheldGroups } from '../../core/withheld-groups.ts';
import type { TopicSuffix } from '../../model/collections.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import type { WithheldList } from '../../pipeline/requests/read-withheld-list.ts';
import { TopicReader } from '../../pipeline/verify/topic-reader.ts';

export interface NamedGroups extends Pick<WithheldGroups, 'by'> {
  readonly counts: readonly { readonly id: string; readonly name: string | null; readonly rows: number }[];
}

/** The topic, and the field of its rows, that names a school or a class. */
const NAMES = { school: ['orgs', 'name'], class: ['classes', 'title'], date: null } as const;

/**
 * Counts the withheld deletions of each list by school, class and date, as their last records in the topics have them.
 * Reads those topics from the beginning. Throws `KAFKA_…`, `REGISTRY_…`.
 */
export async function readGroups(
  assembly: Assembly,
  options: { tenantId: string; lists: readonly WithheldList[]; signal: AbortSignal },
): Promise<ReadonlyMap<string, readonly NamedGroups[]>> {
  const { tenantId, lists, signal } = options;
  const log = assembly.tenant(tenantId).openReadOnlyLog();
  const { topicPrefix } = assembly.config.kafka;
  const lastValues = async (
    topic: TopicSuffix,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, unknown>> => {
    const wanted = new Set(keys);
    const framed = new Map<string, Buffer>();
    const reader = new TopicReader({ log, topicPrefix, tenantId }, [topic], async ({ key, value }) => {
      if (value !== null && wanted.has(key)) framed.set(key, value);
    });
    if (wanted.size > 0) await reader.readOn(signal);
    const values = new Map<string, unknown>();
    for (const [key, value] of framed) values.set(key, await assembly.registry.decode(value));
    return values;
  };
  try {
    const found = new Map<string, readonly NamedGroups[]>();
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
