import type { Config } from '../config.ts';
import type { StateStore } from '../state/index-store.ts';
import { createMemoryStore } from '../state/memory-state.ts';
import { createRedisStore } from '../state/redis-store.ts';

/** The index in Redis, or in memory where no Redis is configured. Nothing is connected yet; the caller must `close` it. */
export function openStateStore({ redis, kafka }: Pick<Config, 'redis' | 'kafka'>): StateStore {
  if (redis === undefined) return createMemoryStore();
  const { url, username, password } = redis;
  return createRedisStore({
    url,
    username,
    password: password === undefined ? undefined : () => password.reveal(),
    // Two installations may share a Redis, and name their tenants alike.
    keyPrefix: `${redis.keyPrefix}:${kafka.topicPrefix}`,
  });
}
