import type { CollectionName } from '../src/model/collections.ts';
import type { Bench } from './bench.ts';
import { startChild, type Child } from './child-process.ts';
import type { SyncRequest } from './log-process.ts';

/** `with`: absences and their changes are derived from the versions; `without`: the versions alone. */
export type Kind = 'with' | 'without';

export const TENANT = 'north';
export const COLLECTION = 'absence-versions';
export const COLLECTIONS: Readonly<Record<Kind, readonly CollectionName[]>> = {
  with: [COLLECTION, 'absences', 'absence-changes'],
  without: [COLLECTION],
};

export const FULL: SyncRequest = { tenantId: TENANT, collection: COLLECTION, mode: 'FULL' };
export const INCREMENTAL: SyncRequest = { ...FULL, mode: 'INCREMENTAL' };

/** Starts a process with its own topics and keys, which it removes at its end. */
export async function startPublisher(
  bench: Bench,
  kind: Kind,
  options: { readonly tenantIds?: readonly string[]; readonly maxConcurrentRequests?: number } = {},
): Promise<AsyncDisposable & { readonly child: Child }> {
  const { tenantIds = [TENANT], maxConcurrentRequests } = options;
  const child = startChild(new URL('log-process.ts', import.meta.url), bench.signal);
  const prefix = `bench-${kind}-chains-${maxConcurrentRequests ?? 'any'}-${process.pid}-${Date.now()}`;
  const collections = COLLECTIONS[kind];
  try {
    await child.call('open', pullConfig(bench, { tenantIds, collections, maxConcurrentRequests, prefix }));
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
  return {
    child,
    async [Symbol.asyncDispose]() {
      await child
        .call('cleanUp')
        .catch(() => bench.print(`the topics and keys under ${prefix} could not be removed`));
      await child[Symbol.asyncDispose]();
    },
  };
}

/** A configuration whose topics and Redis keys begin with `prefix`. Syncs run only on request. */
export function pullConfig(
  { stack, hub }: Bench,
  options: {
    readonly tenantIds: readonly string[];
    readonly collections: readonly CollectionName[];
    readonly maxConcurrentRequests?: number | undefined;
    readonly prefix: string;
  },
): string {
  const { tenantIds, collections, maxConcurrentRequests, prefix } = options;
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  return JSON.stringify({
    tenants: tenantIds.map((id) => ({
      id,
      hub: { baseUrl, tokenUrl, clientId, clientSecret, maxConcurrentRequests },
      collections,
      incrementalEvery: '1d',
      incrementalOverlap: '0s',
    })),
    kafka: { brokers: stack.kafkaBrokers, topicPrefix: prefix, replicationFactor: stack.replicationFactor },
    registry: { url: stack.registryUrl },
    redis: { url: stack.redisUrl, keyPrefix: prefix },
  });
}
