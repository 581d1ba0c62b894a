import { COLLECTIONS, OWN_TOPICS, STATE_TOPIC, type TopicSuffix } from './collections.ts';

/** Returns the name of a topic: `<prefix>.<tenant>.<suffix>`. */
export function topicName(scope: { topicPrefix: string; tenantId: string }, suffix: TopicSuffix): string {
  return `${scope.topicPrefix}.${scope.tenantId}.${suffix}`;
}

/** Returns the name of a partition in progress records: `<topic>/<partition>`. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** A prefix may contain dots, a tenant and a suffix may not. */
const TOPIC_NAME = /^(.+)\.([a-z0-9-]{1,40})\.([a-z-]+)$/;
const SUFFIXES: ReadonlySet<string> = new Set([...COLLECTIONS, ...OWN_TOPICS, STATE_TOPIC]);

/** Reads a name that {@link topicName} gives; null when it is not one. */
export function partsOfTopic(
  topic: string,
): { readonly topicPrefix: string; readonly tenantId: string; readonly suffix: string } | null {
  const [, topicPrefix, tenantId, suffix] = TOPIC_NAME.exec(topic) ?? [];
  if (topicPrefix === undefined || tenantId === undefined || suffix === undefined) return null;
  return SUFFIXES.has(suffix) ? { topicPrefix, tenantId, suffix } : null;
}
