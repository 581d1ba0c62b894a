import type { CollectionName } from '../src/model/collections.ts';
import type { Stack } from '../stack/start-stack.ts';
import type { HubProcess } from './hub-process.ts';

/** Returns a configuration with its own topics and Redis keys; `name` distinguishes it from others of this run. */
export function configText(options: {
  stack: Stack;
  hub: HubProcess;
  name: string;
  tenantIds: readonly string[];
  collections: readonly CollectionName[];
  hasRedis: boolean;
  maxConcurrentRequests?: number;
}): string {
  const { stack, hub, tenantIds, collections, maxConcurrentRequests } = options;
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  const prefix = `bench-${options.name}-${process.pid}-${Date.now()}`;
  return JSON.stringify({
    tenants: tenantIds.map((id) => ({
      id,
      hub: { baseUrl, tokenUrl, clientId, clientSecret, maxConcurrentRequests },
      collections,
      // Syncs run only on request.
      deltaEvery: '1d',
      deltaOverlap: '0s',
    })),
    kafka: { brokers: stack.kafkaBrokers, topicPrefix: prefix, replicationFactor: 1 },
    registry: { url: stack.registryUrl },
    ...(options.hasRedis ? { redis: { url: stack.redisUrl, keyPrefix: prefix } } : {}),
  });
}
