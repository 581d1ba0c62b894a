import type { Admin } from 'kafkajs';
import { collectionSettings, enabledCollections, type Config } from '../../config.ts';
import {
  leftOverTopics,
  otherPrefixes,
  type LeftOverTopic,
  type WantedTopics,
} from '../../core/left-over.ts';
import { OWN_TOPICS } from '../../model/collections.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import { fetchOffsets } from '../../log/topic-offsets.ts';

/** A topic that the configuration does not want. */
export interface CountedTopic extends LeftOverTopic {
  /** By offsets: removed and compacted ones count. */
  readonly recordsAtMost: number;
}

export interface LeftOverTopics {
  readonly topics: readonly CountedTopic[];
  /** Topics under other prefixes that have the names of Rollcall's, counted by prefix. */
  readonly otherPrefixes: ReadonlyMap<string, number>;
}

/** What the configuration wants under its prefix. */
export function wantedUnder(config: Config): WantedTopics {
  const tenants = config.tenants.map((tenant) => {
    const names = enabledCollections(tenant).map(({ name }): string => name);
    const hasChains = collectionSettings(tenant, 'absence-changes').enabled;
    return [tenant.id, new Set([...names, ...OWN_TOPICS, ...(hasChains ? ['absence-state'] : [])])] as const;
  });
  return { topicPrefix: config.kafka.topicPrefix, tenants: new Map(tenants) };
}

/** Looks for topics that nothing in the configuration wants. Throws `KAFKA_…`. */
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

/** As JSON has it, in the shape of a topic of the configuration. */
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
