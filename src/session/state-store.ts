import type { ConnectionOptions } from 'node:tls';
import type { Config } from '../config.ts';
import { Secret } from '../config/redacted-secret.ts';
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
    // The topic prefix is part of the key prefix, because two installations that share a Redis may have tenants of the
    // same name.
    keyPrefix: `${redis.keyPrefix}:${kafka.topicPrefix}`,
  });
}

function revealing(secret: Secret | undefined): (() => string) | undefined {
  return secret && (() => secret.reveal());
}

type TlsSettings = NonNullable<Config['registry']['ssl'] | NonNullable<Config['redis']>['ssl']>;

/** Clients copy the properties for each connection, which calls the getters: so replaced certificates take effect. */
export function tlsOf(
  settings: TlsSettings & { readonly serverName?: string | undefined },
): ConnectionOptions {
  const { serverName, ...options } = settings;
  const getters = Object.entries(options).map(([name, value]) => {
    const get = () => (value instanceof Secret ? value.reveal() : value);
    return [name, { enumerable: true, get }] as const;
  });
  const named = serverName === undefined ? {} : { servername: serverName };
  return Object.defineProperties(named, Object.fromEntries(getters));
}
