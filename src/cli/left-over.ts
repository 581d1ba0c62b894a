import type { Config } from '../config.ts';
import { named } from '../core/health/decisions.ts';
import { partsOfTopic } from '../model/topic-names.ts';
import { topicsOf } from '../session/tenant.ts';
import type { Output } from './output.ts';

/** A topic with the configuration's prefix that it does not want. */
export interface LeftOverTopic {
  readonly topic: string;
  /** What is not configured: this collection of the tenant, or the tenant. */
  readonly notConfigured: 'collection' | 'tenant';
}

/** The topics among these that the configuration does not want. `tenantId`: only of this tenant. */
export function leftOverTopics(
  names: readonly string[],
  config: Config,
  tenantId?: string,
): readonly LeftOverTopic[] {
  const wanted = new Set(
    config.tenants.flatMap((tenant) => topicsOf(config, tenant)).map(({ name }) => name),
  );
  const ids = new Set(config.tenants.map(({ id }) => id));
  return names.toSorted().flatMap((topic) => {
    const parts = partsOfTopic(topic);
    if (parts?.topicPrefix !== config.kafka.topicPrefix || wanted.has(topic)) return [];
    if (tenantId !== undefined && parts.tenantId !== tenantId) return [];
    return [
      { topic, notConfigured: ids.has(parts.tenantId) ? ('collection' as const) : ('tenant' as const) },
    ];
  });
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
