import { enabledCollections, type TenantConfig } from '../../config.ts';
import type { KnownProgress } from '../../log/progress-reader.ts';
import type { CountedTopic, LeftOverTopics } from './find-left-over.ts';

/** The topics of a configured tenant that are left over. */
export interface TenantLeftOver {
  readonly tenant: string;
  readonly topics: readonly CountedTopic[];
  /** Collections without a topic that still have a record in `progress`. */
  readonly onlyInProgress: readonly string[];
}

export function tenantLeftOver(
  tenant: TenantConfig,
  parts: {
    readonly leftOver: LeftOverTopics;
    readonly known: KnownProgress | null;
  },
): TenantLeftOver {
  const topics = parts.leftOver.topics.filter(({ tenantId }) => tenantId === tenant.id);
  const explained = new Set([
    ...enabledCollections(tenant).map(({ name }): string => name),
    ...topics.map(({ suffix }) => suffix),
  ]);
  const onlyInProgress = [...(parts.known?.progress.keys() ?? [])].filter((name) => !explained.has(name));
  return { tenant: tenant.id, topics, onlyInProgress };
}

export function tenantLeftOverAsJson(left: TenantLeftOver | undefined): Record<string, unknown> | null {
  if (left === undefined) return null;
  return {
    topics: left.topics.map(({ topic, recordsAtMost }) => ({ topic, recordsAtMost })),
    withoutTopic: left.onlyInProgress,
  };
}

/** The JSON of the topics of tenants that are not configured. */
export function topicsOfOthers({ topics }: LeftOverTopics): readonly Record<string, unknown>[] {
  return topics
    .filter(({ lacks }) => lacks === 'tenant')
    .map(({ topic, tenantId, recordsAtMost }) => ({ topic, tenant: tenantId, recordsAtMost }));
}
