import type { TopicSuffix } from './collections.ts';

/** `<prefix>.<tenant>.<suffix>`: the name of a topic. */
export function topicName(scope: { topicPrefix: string; tenantId: string }, suffix: TopicSuffix): string {
  return `${scope.topicPrefix}.${scope.tenantId}.${suffix}`;
}

/** `<topic>/<partition>`: how the progress record names a partition. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
