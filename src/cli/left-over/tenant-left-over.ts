import { enabledCollections, type TenantConfig } from '../../config.ts';
import type { KnownProgress } from '../../publisher/progress-reader.ts';
import type { CountedTopic, LeftOverTopics } from './find-left-over.ts';

/** What is left over of a tenant that is configured. */
export interface TenantLeftOver {
  readonly tenant: string;
  readonly topics: readonly CountedTopic[];
  /** Collections without a topic, of which `progress` tells still. */
  readonly toldOf: readonly string[];
  /** Rows by afterschool that is not configured; null where the index cannot be asked. */
  readonly afterschools: ReadonlyMap<string, number> | null;
}

export function tenantLeftOver(
  tenant: TenantConfig,
  parts: {
    readonly leftOver: LeftOverTopics;
    readonly known: KnownProgress | null;
    readonly afterschools: ReadonlyMap<string, number> | null;
  },
): TenantLeftOver {
  const topics = parts.leftOver.topics.filter(({ tenantId }) => tenantId === tenant.id);
  const explained = new Set([
    ...enabledCollections(tenant).map(({ name }): string => name),
    ...topics.map(({ suffix }) => suffix),
  ]);
  const toldOf = [...(parts.known?.progress.keys() ?? [])].filter((name) => !explained.has(name));
  return { tenant: tenant.id, topics, toldOf, afterschools: parts.afterschools };
}

export function tenantLeftOverAsJson(left: TenantLeftOver | undefined): Record<string, unknown> | null {
  if (left === undefined) return null;
  return {
    topics: left.topics.map(({ topic, recordsAtMost }) => ({ topic, recordsAtMost })),
    withoutTopic: left.toldOf,
    rowsOfAfterschools: left.afterschools === null ? null : Object.fromEntries(left.afterschools),
  };
}

/** Topics of tenants that are not configured. */
export function topicsOfOthers({ topics }: LeftOverTopics): readonly Record<string, unknown>[] {
  return topics
    .filter(({ lacks }) => lacks === 'tenant')
    .map(({ topic, tenantId, recordsAtMost }) => ({ topic, tenant: tenantId, recordsAtMost }));
}
