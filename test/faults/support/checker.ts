import { inject, vi } from 'vitest';
import { DERIVED_COLLECTIONS, type CollectionName } from '../../../src/model/collections.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import { chainProblems } from '../../integration/support/chain-oracle.ts';
import { differences } from '../../integration/support/hub-oracle.ts';
import { readTopicsAt, type Servers, type TopicRecord } from '../../integration/support/read-topics.ts';
import { absenceProblems, lastStepProblems } from './absence-problems.ts';
import type { HubHistory } from './hub-history.ts';
import { indexProblems } from './index-problems.ts';
import { rowProblems } from './row-problems.ts';
import { progressProblems, repeatedIds, topicProblems } from './topic-problems.ts';

export interface CheckedTenant {
  readonly hub: ReferenceHub;
  readonly history: HubHistory;
  readonly topicPrefix: string;
  /** Default `north`. */
  readonly tenantId?: string | undefined;
  /** Addresses of its topics, schemas and index; default: the stack of the tests. */
  readonly servers?: (Servers & { readonly redisUrl: string }) | undefined;
}

export interface CheckOptions {
  /** False if the clock of the machine was made to jump. */
  readonly clocksAgree?: boolean | undefined;
  /** Topics that lost their records on purpose: only their final state is checked. */
  readonly lost?: readonly string[] | undefined;
  /** `<prefix of the keys>` of a Redis index; null: none is checked. Default: as `configTextOf` sets it. */
  readonly redisKeyPrefix?: string | null | undefined;
}

/** All committed records of a tenant's topics, by the last part of their names. */
export type Evidence = ReadonlyMap<string, readonly TopicRecord[]>;

const MOST_TOLD = 20;

/** Everything from the beginning, as a `read_committed` consumer reads it. */
export async function readEvidence(tenant: CheckedTenant): Promise<Evidence> {
  const suffixes = [...tenant.history.collections, ...chainTopics(tenant), 'rejects', 'progress'];
  const prefix = `${tenant.topicPrefix}.${tenant.tenantId ?? 'north'}.`;
  const servers = tenant.servers ?? inject('stack');
  const records = await readTopicsAt(
    servers,
    suffixes.map((suffix) => prefix + suffix),
  );
  const byTopic = Map.groupBy(records, ({ topic }) => topic.slice(prefix.length));
  return new Map(suffixes.map((suffix) => [suffix, byTopic.get(suffix) ?? []]));
}

/** Wrongly published records, which later records do not hide. Empty when there are none. */
export function wronglyPublished(
  tenant: CheckedTenant,
  evidence: Evidence,
  options: CheckOptions = {},
): string[] {
  const { clocksAgree = true, lost = [] } = options;
  const topics = new Map([...evidence].filter(([name]) => name !== 'progress' && !lost.includes(name)));
  const problems: string[] = [];
  for (const collection of tenant.history.collections) {
    const records = topics.get(collection);
    const states = tenant.history.of(collection);
    if (records !== undefined) problems.push(...rowProblems({ records, states, collection, clocksAgree }));
  }
  for (const [name, records] of topics) problems.push(...topicProblems(name, records));
  const [absences, changes] = [topics.get('absences'), topics.get('absence-changes')];
  if (absences !== undefined && changes !== undefined) {
    const versions = tenant.history.of('absence-versions');
    const read = new Set(topics.get('absence-versions')?.map(({ key }) => key) ?? versions.keys());
    problems.push(...absenceProblems({ absences, changes, versions, read }));
  }
  problems.push(...repeatedIds('progress', evidence.get('progress') ?? []));
  if (!lost.includes('progress'))
    problems.push(...progressProblems(evidence.get('progress') ?? [], topics, { clocksAgree }));
  return problems.slice(0, MOST_TOLD);
}

/** The differences between the compacted view of the topics and the present hub. */
export function notAsTheHub(tenant: CheckedTenant, evidence: Evidence): string[] {
  const { hub, history } = tenant;
  const problems = history.collections.flatMap((collection) =>
    differences({ hub, collection, records: evidence.get(collection) ?? [] }).map(
      (each) => `${collection} ${each}`,
    ),
  );
  if (history.collections.includes('absence-versions')) {
    const absences = evidence.get('absences') ?? [];
    const changes = evidence.get('absence-changes') ?? [];
    problems.push(...chainProblems({ hub, absences, changes }));
    problems.push(...lastStepProblems({ absences, changes }));
  }
  return problems.slice(0, MOST_TOLD);
}

/** Waits until the topics equal the hub, which is at rest; throws the remaining differences. Returns all records. */
export async function healed(tenant: CheckedTenant, withinMs: number): Promise<Evidence> {
  return vi.waitFor(
    async () => {
      const evidence = await readEvidence(tenant);
      const problems = notAsTheHub(tenant, evidence);
      if (problems.length > 0)
        throw new Error(`the topics do not equal the hub yet:\n${problems.join('\n')}`);
      return evidence;
    },
    { timeout: withinMs, interval: 500 },
  );
}

/** All problems of a tenant that is at rest and has recovered; empty when there are none. */
export async function allProblems(tenant: CheckedTenant, options: CheckOptions = {}): Promise<string[]> {
  const evidence = await readEvidence(tenant);
  const problems = [...notAsTheHub(tenant, evidence), ...wronglyPublished(tenant, evidence, options)];
  const { redisKeyPrefix = tenant.topicPrefix } = options;
  if (redisKeyPrefix === null) return problems;
  const store = createRedisStore({
    url: (tenant.servers ?? inject('stack')).redisUrl,
    keyPrefix: `${redisKeyPrefix}:${tenant.topicPrefix}`,
  });
  try {
    for (const name of tenant.history.collections) {
      const found = await indexProblems({
        store,
        tenantId: tenant.tenantId ?? 'north',
        collection: name as CollectionName,
        records: evidence.get(name) ?? [],
        progress: evidence.get('progress') ?? [],
      });
      problems.push(...found);
    }
  } finally {
    await store.close();
  }
  return problems.slice(0, MOST_TOLD);
}

function chainTopics({ history }: CheckedTenant): readonly string[] {
  return history.collections.includes('absence-versions') ? DERIVED_COLLECTIONS : [];
}
