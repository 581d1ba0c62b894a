import type { Admin } from 'kafkajs';
import type { Config } from '../config.ts';
import { named } from '../core/health/decisions.ts';
import { fetchOffsets, listTopics } from '../log/topic-offsets.ts';
import { partsOfTopic } from '../model/topic-names.ts';
import { topicsOf } from '../session/tenant.ts';
import type { Output } from './output.ts';

/** A topic with the configuration's prefix that it does not want. */
export interface LeftOverTopic {
  readonly topic: string;
  readonly recordsAtMost: number;
  /** What is not configured: this collection of the tenant, or the tenant. */
  readonly notConfigured: 'collection' | 'tenant';
}

/** Finds the topics that the configuration does not want. `tenantId`: only of this tenant. Throws `KAFKA_…`. */
export async function findLeftOver(
  admin: Admin,
  config: Config,
  tenantId?: string,
): Promise<readonly LeftOverTopic[]> {
  const found = leftOverTopics(await listTopics(admin), config);
  return Promise.all(
    found
      .filter((each) => tenantId === undefined || each.tenantId === tenantId)
      .map(async ({ topic, notConfigured }) => {
        return { topic, recordsAtMost: await countRecords(admin, topic), notConfigured };
      }),
  );
}

/** In the order of their names. */
export function leftOverTopics(names: readonly string[], config: Config) {
  const wanted = new Set(
    config.tenants.flatMap((tenant) => topicsOf(config, tenant)).map(({ name }) => name),
  );
  const ids = new Set(config.tenants.map(({ id }) => id));
  return names.toSorted().flatMap((topic) => {
    const parts = partsOfTopic(topic);
    if (parts?.topicPrefix !== config.kafka.topicPrefix || wanted.has(topic)) return [];
    const { tenantId } = parts;
    const notConfigured: LeftOverTopic['notConfigured'] = ids.has(tenantId) ? 'collection' : 'tenant';
    return [{ topic, tenantId, notConfigured }];
  });
}

/** The number of offsets of a topic, which includes removed and compacted records. */
export async function countRecords(admin: Admin, topic: string): Promise<number> {
  const ranges = await fetchOffsets(admin, topic);
  return ranges.reduce((sum, { low, high }) => sum + high - low, 0);
}

/** Prints what is left over in a line. Another installation may mirror a tenant that is not configured. */
export function showLeftOver(output: Output, topics: readonly LeftOverTopic[]): void {
  if (topics.length === 0) return;
  output.line(
    `${output.colors.yellow('!')} left over, not configured: ${named(topics.map(({ topic }) => topic))}`,
  );
  output.line(
    `  ${output.colors.cyan('→')} "rollcall topics list" names them, "rollcall topics purge <topic>" deletes those that you name.`,
  );
}
