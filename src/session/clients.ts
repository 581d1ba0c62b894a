import type { Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import type { Config, TenantConfig } from '../config.ts';
import { createHub, type TenantHub } from '../hub/create-hub.ts';
import { createKafkaClient } from '../log/kafka-client.ts';
import { Registry } from '../log/registry.ts';
import type { RegistryConnection } from '../log/registry-http.ts';
import type { StateStore } from '../state/index-store.ts';
import { createMemoryStore } from '../state/memory-state.ts';
import type { RedisConnectionOptions } from '../state/redis-connection.ts';
import { createRedisStore } from '../state/redis-store.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';

// Creates the clients of Kafka, registry, index and hub from the configuration. No client connects before its first
// use.

export function kafkaOf(config: Config, logger: Logger): Kafka {
  const { brokers, ssl, sasl } = config.kafka;
  return createKafkaClient(
    {
      brokers,
      clientId: 'rollcall',
      tls: typeof ssl === 'boolean' ? ssl : () => revealed(ssl),
      sasl: sasl && {
        mechanism: sasl.mechanism,
        username: sasl.username,
        get password() {
          return sasl.password.reveal();
        },
      },
    },
    logger,
  );
}

function revealed({ ca, cert, key, rejectUnauthorized }: Exclude<Config['kafka']['ssl'], boolean>) {
  return {
    rejectUnauthorized,
    ...(ca === undefined ? {} : { ca: ca.reveal() }),
    ...(cert === undefined ? {} : { cert: cert.reveal() }),
    ...(key === undefined ? {} : { key: key.reveal() }),
  };
}

export function registryOf({ registry }: Config): Registry {
  return new Registry(registryConnection(registry));
}

export function registryConnection({ url, username, password }: Config['registry']): RegistryConnection {
  return { url, username, password: password === undefined ? undefined : () => password.reveal() };
}

export function redisConnection(redis: NonNullable<Config['redis']>): RedisConnectionOptions {
  const { url, username, password } = redis;
  return { url, username, password: password === undefined ? undefined : () => password.reveal() };
}

/** The index in Redis, or in memory where no Redis is configured. */
export function storeOf({ redis, kafka }: Config): StateStore {
  if (redis === undefined) return createMemoryStore();
  return createRedisStore({
    ...redisConnection(redis),
    // Two installations may share a Redis, and name their tenants alike.
    keyPrefix: `${redis.keyPrefix}:${kafka.topicPrefix}`,
  });
}

export function hubOf({ hub }: TenantConfig, emit: (event: PipelineEvent) => void): TenantHub {
  return createHub(hub, { onEvent: (event) => emit({ type: 'hub', event }) });
}
