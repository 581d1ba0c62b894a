import { enabledCollections, type TenantConfig } from '../../config.ts';
import type { KnownProgress } from '../../log/progress-reader.ts';
import type { LeftOfAfterschool } from '../../core/left-over.ts';
import type { CountedTopic, LeftOverTopics } from './find-left-over.ts';

/** The topics and afterschools of a configured tenant that are left over. */
export interface TenantLeftOver {
  readonly tenant: string;
  readonly topics: readonly CountedTopic[];
  /** Collections without a topic that still have a record in `progress`. */
  readonly onlyInProgress: readonly string[];
  /** By afterschool that is not configured; null when the index is not available. */
  readonly afterschools: ReadonlyMap<string, LeftOfAfterschool> | null;
}

export function tenantLeftOver(
  tenant: TenantConfig,
  parts: {
    readonly leftOver: LeftOverTopics;
    readonly known: KnownProgress | null;
    readonly afterschools: ReadonlyMap<string, LeftOfAfterschool> | null;
  },
): TenantLeftOver {
  const topics = parts.leftOver.topics.filter(({ tenantId }) => tenantId === tenant.id);
  const explained = new Set([
    ...enabledCollections(tenant).map(({ name }): string => name),
    ...topics.map(({ suffix }) => suffix),
  ]);
  const onlyInProgress = [...(parts.known?.progress.keys() ?? [])].filter((name) => !explained.has(name));
  return { tenant: tenant.id, topics, onlyInProgress, afterschools: parts.afterschools };
}

export function tenantLeftOverAsJson(left: TenantLeftOver | undefined): Record<string, unknown> | null {
  if (left === undefined) return null;
  return {
    topics: left.topics.map(({ topic, recordsAtMost }) => ({ topic, recordsAtMost })),
    withoutTopic: left.onlyInProgress,
    rowsOfAfterschools: countsOf(left, 'rows'),
    rejectsOfAfterschools: countsOf(left, 'rejects'),
  };
}

function countsOf(
  { afterschools }: TenantLeftOver,
  area: keyof LeftOfAfterschool,
): Readonly<Record<string, number>> | null {
  if (afterschools === null) return null;
  const counts = [...afterschools].map(([id, left]) => [id, left[area]] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** The JSON of the topics of tenants that are not configured. */
export function topicsOfOthers({ topics }: LeftOverTopics): readonly Record<string, unknown>[] {
  return topics
    .filter(({ lacks }) => lacks === 'tenant')
    .map(({ topic, tenantId, recordsAtMost }) => ({ topic, tenant: tenantId, recordsAtMost }));
}
