import type { CollectionName } from '../src/model/collections.ts';
import type { Stack } from '../stack/start-stack.ts';
import type { HubProcess } from './hub-process.ts';

interface ConfigOptions {
  readonly stack: Stack;
  readonly hub: HubProcess;
  readonly tenantIds: readonly string[];
  readonly collections: readonly CollectionName[];
  readonly hasRedis: boolean;
  readonly maxConcurrentRequests?: number;
}

/** Returns a configuration with its own topics and Redis keys; `name` distinguishes it from others of this run. */
export function configText(options: ConfigOptions & { readonly name: string }): string {
  return rollcallConfig({ ...options, prefix: `bench-${options.name}-${process.pid}-${Date.now()}` });
}

/** Returns a configuration whose topics and Redis keys begin with `prefix`. */
export function rollcallConfig(options: ConfigOptions & { readonly prefix: string }): string {
  const { stack, hub, tenantIds, collections, maxConcurrentRequests, prefix } = options;
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
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
