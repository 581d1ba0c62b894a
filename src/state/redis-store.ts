import { randomUUID } from 'node:crypto';
import { RollcallError } from '../errors.ts';
import type { StateStore } from './index-store.ts';
import { RedisConnection, type RedisConnectionOptions } from './redis-connection.ts';
import { RedisCoordination } from './redis-coordination.ts';
import { RedisDeletions } from './redis-deletions.ts';
import { RedisIndex } from './redis-index.ts';
import { probeKey, tenantKeys } from './redis-keys.ts';
import { SCRIPTS } from './redis-scripts.ts';

export interface RedisStoreOptions extends RedisConnectionOptions {
  /** First part of every key. Installations that share a Redis need different prefixes. */
  readonly keyPrefix: string;
  /** Returns a random token, different for each call. */
  readonly newToken?: (() => string) | undefined;
}

/** Keeps the state of tenants in Redis 6.2 or later. It connects at the first use; the caller must `close` it. */
export function createRedisStore(options: RedisStoreOptions): StateStore {
  const { keyPrefix, newToken = randomUUID } = options;
  const connection = new RedisConnection(options);
  return {
    coordination: new RedisCoordination(connection, keyPrefix),
    async ready() {
      await connection.run((client) => client.ping());
      refuseEviction(await connection.run((client) => client.info('memory')), connection.address);
      await connection.script(SCRIPTS.probe, [probeKey(keyPrefix, newToken())], []);
    },
    tenant(tenantId) {
      const keys = tenantKeys(keyPrefix, tenantId);
      const deletions = new RedisDeletions(connection, keys);
      return {
        collection: (name) =>
          new RedisIndex({ connection, keys: keys.collection(name), name: `${tenantId}/${name}`, newToken }),
        deletions,
        async forget(name) {
          const { areas, position } = keys.collection(name);
          await connection.run((client) => client.unlink(position, ...areas.values()));
          await deletions.setMissing(name, null);
        },
      };
    },
    async close() {
      connection.close();
    },
  };
}

/** Reads the policy from INFO, because managed services forbid CONFIG. */
function refuseEviction(memoryInfo: string, address: string): void {
  const [, policy = 'noeviction'] = /^maxmemory_policy:([^\r\n]*)/m.exec(memoryInfo) ?? [];
  if (policy === 'noeviction') return;
  throw new RollcallError(
    'INDEX_REFUSED',
    `Redis at ${address} has maxmemory-policy ${policy} and may drop parts of the index when memory runs short`,
    { remedy: 'Set maxmemory-policy to noeviction, or set redis.url to a Redis that only Rollcall uses.' },
  );
}
