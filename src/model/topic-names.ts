import type { TopicSuffix } from './collections.ts';

/** Returns the name of a topic: `<prefix>.<tenant>.<suffix>`. */
export function topicName(scope: { topicPrefix: string; tenantId: string }, suffix: TopicSuffix): string {
  return `${scope.topicPrefix}.${scope.tenantId}.${suffix}`;
}

/** Returns the name of a partition in progress records: `<topic>/<partition>`. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
