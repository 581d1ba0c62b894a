import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import type { Tenant } from '../table/tenant.ts';

export type TenantTopics = Pick<Tenant, 'topicPrefix' | 'tenantId' | 'log'>;

export interface TopicEnds {
  /** Next offset to be written, by `<topic>/<partition>`. */
  readonly nextOffsets: Offsets;
  /** First offset that still exists, by `<topic>/<partition>`. */
  readonly firstOffsets: Offsets;
}

/** The first and next offsets of topics. Throws `KAFKA_TOPIC_MISSING`, `KAFKA_…`. */
export async function readEnds(tenant: TenantTopics, topics: readonly TopicSuffix[]): Promise<TopicEnds> {
  const nextOffsets: Record<string, number> = {};
  const firstOffsets: Record<string, number> = {};
  for (const { topic, partitions } of await tenant.log.ranges(topics)) {
    for (const [partition, { low, high }] of partitions.entries()) {
      const name = partitionName(topicName(tenant, topic), partition);
      nextOffsets[name] = high;
      firstOffsets[name] = low;
    }
  }
  return { nextOffsets, firstOffsets };
}

/** `<prefix>.<tenant>.<collection>/<partition>` */
export function suffixOf(name: string): TopicSuffix {
  return name.slice(name.lastIndexOf('.') + 1, name.lastIndexOf('/')) as TopicSuffix;
}
