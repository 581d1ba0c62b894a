import { inject, vi } from 'vitest';
import { DERIVED_COLLECTIONS, type CollectionName } from '../../../src/model/collections.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import type { RedisServers } from '../../../src/state/redis-client.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import { readTopicsAt, type Servers } from '../../integration/support/read-topics.ts';
import { idOf } from '../../integration/support/rows.ts';
import type { HubHistory, Row } from '../../oracle/history.ts';
import * as oracle from '../../oracle/oracle.ts';
import { problemsOfIndex, type Evidence, type ProgressOptions } from '../../oracle/progress.ts';

export interface CheckedTenant {
  readonly hub: ReferenceHub;
  readonly history: HubHistory;
  readonly topicPrefix: string;
  /** Default `north`. */
  readonly tenantId?: string | undefined;
  /** Addresses of its topics and schemas; default: the stack of the tests. */
  readonly servers?: Servers | undefined;
  /** Where its index is; default: the Redis of the stack. */
  readonly redis?: RedisServers | undefined;
}

/** `clocksAgree`: false if the clock of the machine was made to jump. */
export type CheckOptions = ProgressOptions;

const MOST_REPORTED = 20;

/** Everything from the beginning, as a `read_committed` consumer reads it. */
export async function readEvidence(tenant: CheckedTenant): Promise<Evidence> {
  const { collections } = tenant.history;
  const derived = collections.includes('absence-versions') ? DERIVED_COLLECTIONS : [];
  const suffixes = [...collections, ...derived, 'rejects', 'progress'];
  const prefix = `${tenant.topicPrefix}.${tenant.tenantId ?? 'north'}.`;
  const topics = suffixes.map((suffix) => prefix + suffix);
  const records = await readTopicsAt(tenant.servers ?? inject('stack'), topics);
  const byTopic = Map.groupBy(records, ({ topic }) => topic.slice(prefix.length));
  return new Map(suffixes.map((suffix) => [suffix, byTopic.get(suffix) ?? []]));
}

/** Wrongly published records, which later records do not hide. Empty when there are none. */
export function wronglyPublished(
  { history }: CheckedTenant,
  evidence: Evidence,
  options: CheckOptions = {},
): string[] {
  return oracle.wronglyPublished({ history, evidence }, options).slice(0, MOST_REPORTED);
}

/** The differences between the compacted view of the topics and the present hub. */
function notAsTheHub({ hub, history }: CheckedTenant, evidence: Evidence): string[] {
  const wanted = history.collections.map((collection) => {
    const rows = hub.district.snapshot(collection);
    return [collection, new Map(rows.map((row): [string, Row] => [idOf(row), row]))] as const;
  });
  const mirrored = { history, evidence };
  return [...oracle.notAsTheHub(mirrored, new Map(wanted)), ...oracle.chainsNotAsTheHub(mirrored)].slice(
    0,
    MOST_REPORTED,
  );
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
  const store = createRedisStore({
    ...(tenant.redis ?? { url: inject('stack').redisUrl }),
    keyPrefix: `${tenant.topicPrefix}:${tenant.topicPrefix}`,
  });
  try {
    const state = store.tenant(tenant.tenantId ?? 'north');
    for (const name of tenant.history.collections as CollectionName[])
      problems.push(...(await problemsOfIndex(state.collection(name), name, evidence)));
  } finally {
    await store.close();
  }
  return problems.slice(0, MOST_REPORTED);
}
