import type { Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import type { Config, TenantConfig } from '../config.ts';
import type { CoreApi } from '../hub/core-api.ts';
import { createHub } from '../hub/create-hub.ts';
import type { Hub } from '../hub/hub.ts';
import { createKafkaClient } from '../log/kafka-client.ts';
import { createRegistry, type Registry } from '../log/registry.ts';
import type { StateStore } from '../state/index-store.ts';
import { createMemoryStore } from '../state/memory-store.ts';
import { createRedisStore } from '../state/redis-store.ts';
import type { PipelineEvent } from './pipeline-events.ts';

// The clients of Kafka, registry, index and hub, as the configuration says. None of them connects before its first use.

export function kafkaOf(config: Config, logger: Logger): Kafka {
  const { brokers, ssl, sasl } = config.kafka;
  return createKafkaClient(
    {
      brokers,
      clientId: 'rollcall',
      ssl: typeof ssl === 'boolean' ? ssl : withRevealedKey(ssl),
      sasl: sasl === undefined ? undefined : { ...sasl, password: sasl.password.reveal() },
    },
    logger,
  );
}

function withRevealedKey(ssl: Exclude<Config['kafka']['ssl'], boolean>) {
  const { ca, cert, key, rejectUnauthorized } = ssl;
  return {
    rejectUnauthorized,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: key.reveal() }),
  };
}

export function registryOf({ registry: { url, username, password } }: Config): Registry {
  return createRegistry({
    url,
    username,
    password: password === undefined ? undefined : () => password.reveal(),
  });
}

/** The index in Redis, or in memory where no Redis is configured. */
export function storeOf({ redis, kafka }: Config): StateStore {
  if (redis === undefined) return createMemoryStore();
  return createRedisStore({
    url: redis.url,
    // Two installations may share a Redis, and name their tenants alike.
    keyPrefix: `${redis.keyPrefix}:${kafka.topicPrefix}`,
    ...(redis.username === undefined ? {} : { username: redis.username }),
    ...(redis.password === undefined ? {} : { password: redis.password.reveal() }),
  });
}

export function hubOf(
  { hub }: TenantConfig,
  emit: (event: PipelineEvent) => void,
): Hub & CoreApi & AsyncDisposable {
  return createHub({
    baseUrl: hub.baseUrl,
    tokenUrl: hub.tokenUrl,
    clientId: hub.clientId,
    clientSecret: () => hub.clientSecret.reveal(),
    clientAuth: hub.clientAuth,
    scope: hub.scope,
    pageSize: hub.pageSize,
    paging: hub.paging,
    maxConcurrentRequests: hub.maxConcurrentRequests,
    timeouts: { requestMs: hub.requestTimeoutMs },
    maxResponseBytes: hub.maxResponseBytes,
    onEvent: (event) => emit({ type: 'hub', event }),
  });
}
