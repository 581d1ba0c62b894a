import { randomUUID } from 'node:crypto';
import { RollcallError } from '../errors.ts';
import type { StateStore } from './index-store.ts';
import { RedisConnection, type RedisConnectionOptions } from './redis-connection.ts';
import { redisCoordination } from './redis-coordination.ts';
import { redisDeletions } from './redis-deletions.ts';
import { redisIndex } from './redis-index.ts';
import { probeKey, tenantKeys } from './redis-keys.ts';
import { SCRIPTS } from './redis-scripts.ts';

export interface RedisStoreOptions extends RedisConnectionOptions {
  /** First part of every key. Installations that share a Redis need different prefixes. */
  readonly keyPrefix: string;
}

/** Keeps the state of tenants in Redis 6.2 or later. It connects at the first use; the caller must `close` it. */
export function createRedisStore(options: RedisStoreOptions): StateStore {
  const { keyPrefix } = options;
  const connection = new RedisConnection(options);
  return {
    coordination: redisCoordination(connection, keyPrefix),
    async ready() {
      for (const info of await connection.infos())
        requireSuitable(info, options.cluster === true, connection.address);
      await connection.script(SCRIPTS.probe, [probeKey(keyPrefix, randomUUID())], []);
    },
    tenant(tenantId) {
      const keys = tenantKeys(keyPrefix, tenantId);
      const deletions = redisDeletions(connection, keys);
      return {
        collection: (name) => redisIndex(connection, keys.collection(name), `${tenantId}/${name}`),
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

/** By the mode that a server reports: what the server really is, although the configuration takes it for a single Redis. */
const OTHER_KINDS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  cluster: ['is a node of a Redis Cluster', 'Set redis.cluster to true.'],
  sentinel: ['is a Sentinel', 'Set redis.sentinel.master to the name by which it knows the primary.'],
};

/** Reads mode and policy from INFO, because managed services forbid CONFIG. */
function requireSuitable(info: string, isCluster: boolean, address: string): void {
  const valueOf = (field: string) => new RegExp(`^${field}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
  const refuse = (what: string, remedy: string) => {
    throw new RollcallError('INDEX_REFUSED', `Redis at ${address} ${what}`, { remedy });
  };
  // Valkey has another name for the mode.
  const mode = valueOf('redis_mode') ?? valueOf('server_mode') ?? '';
  const other = isCluster ? undefined : OTHER_KINDS[mode];
  if (other !== undefined) refuse(...other);
  const policy = valueOf('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return;
  refuse(
    `has maxmemory-policy ${policy} and may drop parts of the index when memory runs short`,
    'Set maxmemory-policy to noeviction, or set redis.url to a Redis that only Rollcall uses.',
  );
}
