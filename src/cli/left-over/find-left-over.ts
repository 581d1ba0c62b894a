import type { Admin } from 'kafkajs';
import { collectionSettings, enabledCollections, type Config } from '../../config.ts';
import {
  leftOverTopics,
  otherPrefixes,
  type LeftOverTopic,
  type WantedTopics,
} from '../../core/left-over.ts';
import { OWN_TOPICS, STATE_TOPIC } from '../../model/collections.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import { fetchOffsets } from '../../log/topic-offsets.ts';

/** A topic that the configuration does not want, and how many records it may have. */
export interface CountedTopic extends LeftOverTopic {
  /** The number of offsets, which includes removed and compacted records. */
  readonly recordsAtMost: number;
}

export interface LeftOverTopics {
  readonly topics: readonly CountedTopic[];
  /** The number of topics that are named as Rollcall names them, for each other prefix. */
  readonly otherPrefixes: ReadonlyMap<string, number>;
}

/** The topics that the configuration wants under its prefix. */
export function wantedUnder(config: Config): WantedTopics {
  const tenants = config.tenants.map((tenant) => {
    const names = enabledCollections(tenant).map(({ name }): string => name);
    const hasChains = collectionSettings(tenant, 'absence-changes').enabled;
    return [tenant.id, new Set([...names, ...OWN_TOPICS, ...(hasChains ? [STATE_TOPIC] : [])])] as const;
  });
  return { topicPrefix: config.kafka.topicPrefix, tenants: new Map(tenants) };
}

/** Finds the topics that the configuration does not want. Throws `KAFKA_…`. */
export async function findLeftOver(admin: Admin, wanted: WantedTopics): Promise<LeftOverTopics> {
  const names = await admin.listTopics().catch((error: unknown) => {
    throw kafkaError(error, 'listing topics');
  });
  const topics: CountedTopic[] = [];
  for (const each of leftOverTopics(names, wanted)) {
    const ranges = await fetchOffsets(admin, each.topic);
    topics.push({ ...each, recordsAtMost: ranges.reduce((sum, { low, high }) => sum + high - low, 0) });
  }
  return { topics, otherPrefixes: otherPrefixes(names, wanted.topicPrefix) };
}

/** The JSON of a topic, in the same shape as that of a configured one. */
export function leftOverAsJson({ topic, lacks, recordsAtMost }: CountedTopic): Record<string, unknown> {
  return {
    topic,
    exists: true,
    partitions: null,
    wantedPartitions: null,
    differences: [],
    curable: false,
    recordsAtMost,
    notConfigured: lacks,
  };
}
