import { COLLECTIONS, OWN_TOPICS, STATE_TOPIC } from '../model/collections.ts';

/** `<prefix>.<tenant>.<suffix>`; a prefix may contain dots, a tenant and a suffix may not. */
const TOPIC_NAME = /^(.+)\.([a-z0-9-]{1,40})\.([a-z-]+)$/;
const SUFFIXES: ReadonlySet<string> = new Set([...COLLECTIONS, ...OWN_TOPICS, STATE_TOPIC]);

/** The parts of a topic name. */
export interface TopicParts {
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly suffix: string;
}

/** A topic with a name of Rollcall's that the configuration no longer wants. */
export interface LeftOverTopic extends TopicParts {
  readonly topic: string;
  /** `collection`: the tenant is configured, but does not mirror it; `tenant`: no such tenant is configured. */
  readonly lacks: 'collection' | 'tenant';
}

/** The topics that the configuration wants under one prefix. */
export interface WantedTopics {
  readonly topicPrefix: string;
  /** By tenant, the suffixes of its topics. */
  readonly tenants: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Null when the name is not one that Rollcall gives. */
export function partsOfTopic(topic: string): TopicParts | null {
  const [, topicPrefix, tenantId, suffix] = TOPIC_NAME.exec(topic) ?? [];
  if (topicPrefix === undefined || tenantId === undefined || suffix === undefined) return null;
  return SUFFIXES.has(suffix) ? { topicPrefix, tenantId, suffix } : null;
}

/** Topics of the prefix that the configuration does not want, in the order of their names. */
export function leftOverTopics(topics: Iterable<string>, wanted: WantedTopics): readonly LeftOverTopic[] {
  return [...topics].toSorted().flatMap((topic) => {
    const parts = partsOfTopic(topic);
    if (parts?.topicPrefix !== wanted.topicPrefix) return [];
    const suffixes = wanted.tenants.get(parts.tenantId);
    if (suffixes?.has(parts.suffix) === true) return [];
    return [
      { ...parts, topic, lacks: suffixes === undefined ? ('tenant' as const) : ('collection' as const) },
    ];
  });
}

/**
 * The number of topics under each other prefix. Counts a prefix only when a tenant's `progress` is among its topics: no
 * other topic has that name by chance.
 */
export function otherPrefixes(topics: Iterable<string>, topicPrefix: string): ReadonlyMap<string, number> {
  const found = [...topics].flatMap((topic) => partsOfTopic(topic) ?? []);
  const others = found.filter((each) => each.topicPrefix !== topicPrefix);
  const ours = new Set(others.flatMap((each) => (each.suffix === 'progress' ? [each.topicPrefix] : [])));
  const counts = new Map<string, number>();
  for (const each of others) {
    if (ours.has(each.topicPrefix)) counts.set(each.topicPrefix, (counts.get(each.topicPrefix) ?? 0) + 1);
  }
  return counts;
}
