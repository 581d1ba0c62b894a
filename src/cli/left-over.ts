import type { Admin } from 'kafkajs';
import { collectionSettings, enabledCollections, type Config } from '../config.ts';
import { leftOverTopics, otherPrefixes, type LeftOverTopic, type WantedTopics } from '../core/left-over.ts';
import { named } from '../core/health/decisions.ts';
import { countOf } from '../core/words.ts';
import { kafkaError } from '../log/kafka-errors.ts';
import { fetchOffsets } from '../log/topic-offsets.ts';
import { OWN_TOPICS, STATE_TOPIC } from '../model/collections.ts';
import type { Output } from './output.ts';

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
    const hasAbsences = collectionSettings(tenant, 'absence-changes').enabled;
    return [tenant.id, new Set([...names, ...OWN_TOPICS, ...(hasAbsences ? [STATE_TOPIC] : [])])] as const;
  });
  return { topicPrefix: config.kafka.topicPrefix, tenants: new Map(tenants) };
}

/** Finds the topics that the configuration does not want. `tenantId`: only of this tenant. Throws `KAFKA_…`. */
export async function findLeftOver(
  admin: Admin,
  wanted: WantedTopics,
  tenantId?: string,
): Promise<LeftOverTopics> {
  const names = await admin.listTopics().catch((error: unknown) => {
    throw kafkaError(error, 'listing topics');
  });
  const topics: CountedTopic[] = [];
  for (const each of leftOverTopics(names, wanted)) {
    if (tenantId === undefined || each.tenantId === tenantId)
      topics.push({ ...each, recordsAtMost: await countRecords(admin, each.topic) });
  }
  return { topics, otherPrefixes: otherPrefixes(names, wanted.topicPrefix) };
}

/** The number of offsets of a topic, which includes removed and compacted records. */
export async function countRecords(admin: Admin, topic: string): Promise<number> {
  const ranges = await fetchOffsets(admin, topic);
  return ranges.reduce((sum, { low, high }) => sum + high - low, 0);
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

/** Prints what is left over in a line. Another installation may mirror a tenant that is not configured. */
export function showLeftOver(output: Output, { topics, otherPrefixes }: LeftOverTopics): void {
  const { colors } = output;
  if (topics.length > 0) {
    output.line(
      `${colors.yellow('!')} left over, not configured: ${named(topics.map(({ topic }) => topic))}`,
    );
    output.line(
      `  ${colors.cyan('→')} "rollcall topics list" names them, "rollcall topics purge <topic>" deletes those that you name.`,
    );
  }
  for (const [prefix, count] of otherPrefixes)
    output.line(
      `${colors.yellow('!')} ${countOf(count, 'topic')} under another prefix, ${prefix}: another installation's, or an earlier prefix of this one (rollcall topics list --prefix ${prefix})`,
    );
}
