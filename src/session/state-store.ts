import type { ConnectionOptions } from 'node:tls';
import type { Config } from '../config.ts';
import type { Secret } from '../config/redacted-secret.ts';
import type { StateStore } from '../state/index-store.ts';
import { createMemoryStore } from '../state/memory-state.ts';
import { createRedisStore } from '../state/redis-store.ts';

/** The index in Redis, or in memory where no Redis is configured. Nothing is connected yet; the caller must `close` it. */
export function openStateStore({ redis, kafka }: Pick<Config, 'redis' | 'kafka'>): StateStore {
  if (redis === undefined) return createMemoryStore();
  const { url, sentinel, cluster, ssl, username, password } = redis;
  return createRedisStore({
    url,
    sentinel: sentinel && { ...sentinel, password: revealing(sentinel.password) },
    cluster,
    username,
    password: revealing(password),
    tls: ssl && tlsOf(ssl),
    // Two installations may share a Redis, and name their tenants alike.
    keyPrefix: `${redis.keyPrefix}:${kafka.topicPrefix}`,
  });
}

function revealing(secret: Secret | undefined): (() => string) | undefined {
  return secret && (() => secret.reveal());
}

/** The client copies the properties for each connection, which calls the getters. */
function tlsOf({
  serverName,
  ...secrets
}: NonNullable<NonNullable<Config['redis']>['ssl']>): ConnectionOptions {
  const getters = Object.entries(secrets).map(
    ([name, secret]) => [name, { enumerable: true, get: () => secret?.reveal() }] as const,
  );
  return Object.defineProperties({ servername: serverName }, Object.fromEntries(getters));
}
