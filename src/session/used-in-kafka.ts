import { enabledCollections, partitionsOf, type Config, type TenantConfig } from '../config.ts';
import type { UsedResources } from '../log/rights.ts';
import type { WantedTopic } from '../log/topic-settings.ts';
import { OWN_TOPICS, STATE_TOPIC, type TopicSuffix } from '../model/collections.ts';
import { topicName } from '../model/topic-names.ts';

/** The topics that the configuration wants for a tenant. */
export function topicsOf({ kafka }: Config, tenantConfig: TenantConfig): readonly WantedTopic[] {
  const suffixes: TopicSuffix[] = [
    ...enabledCollections(tenantConfig).map(({ name }) => name),
    ...OWN_TOPICS,
  ];
  if (tenantConfig.collections['absence-changes'].enabled) suffixes.push(STATE_TOPIC);
  const { topicPrefix, replicationFactor } = kafka;
  const tenantId = tenantConfig.id;
  return suffixes.map((suffix) => ({
    name: topicName({ topicPrefix, tenantId }, suffix),
    tenantId,
    suffix,
    partitions: partitionsOf(kafka, suffix),
    replicationFactor,
  }));
}

/** The name of the group in Kafka by which the workers share the tenants. */
export function workersGroup(topicPrefix: string): string {
  return `${topicPrefix}.workers`;
}

/** The topics, transactional ids and group in Kafka that the owner of these tenants uses. */
export function usedResources(config: Config, tenants: readonly TenantConfig[]): UsedResources {
  const { topicPrefix } = config.kafka;
  return {
    topic: tenants.flatMap((tenant) => topicsOf(config, tenant)).map(({ name }) => name),
    'transactional-id': tenants.map(({ id }) => `${topicPrefix}.${id}`),
    group: [workersGroup(topicPrefix)],
  };
}
