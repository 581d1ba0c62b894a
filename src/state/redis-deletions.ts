import type { Miss, Missing } from '../core/deletions/decide-missing.ts';
import { jsonOrNull } from '../core/json-or-null.ts';
import type { DeletionMemory } from './index-store.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { TenantKeys } from './redis-keys.ts';

const FIELDS_AT_ONCE = 5_000;
/** A field of the same hash as the keys. (The fields of the keys have a prefix.) */
const SYNC_FIELD = 'sync';
const KEY_PREFIX = '=';

/** A tenant's memory between syncs in Redis. Layout: `redis-keys.ts`. */
export function redisDeletions(connection: RedisConnection, tenantKeys: TenantKeys): DeletionMemory {
  return {
    async missing(collection) {
      const keys = new Map<string, Miss>();
      let sync: Omit<Missing, 'keys'> | null = null;
      // No other process writes meanwhile, since a tenant has one owner.
      for await (const batch of connection.scan(tenantKeys.collection(collection).missing)) {
        for (const [field, value] of batch) {
          if (field === SYNC_FIELD) sync = jsonOrNull(String(value)) as Omit<Missing, 'keys'> | null;
          if (!field.startsWith(KEY_PREFIX)) continue;
          const [sinceMs = 0, times = 0] = String(value).split(' ').map(Number);
          keys.set(field.slice(KEY_PREFIX.length), { sinceMs, times });
        }
      }
      return sync && { ...sync, keys };
    },
    async setMissing(collection, missing) {
      const key = tenantKeys.collection(collection).missing;
      if (missing === null) {
        await connection.run((client) => client.unlink(key));
        return;
      }
      const { keys, ...sync } = missing;
      const pairs = [SYNC_FIELD, JSON.stringify(sync)];
      for (const [each, { sinceMs, times }] of keys) pairs.push(KEY_PREFIX + each, `${sinceMs} ${times}`);
      await connection.transaction((commands) => {
        commands.unlink(key);
        for (let at = 0; at < pairs.length; at += FIELDS_AT_ONCE * 2)
          commands.hset(key, ...pairs.slice(at, at + FIELDS_AT_ONCE * 2));
      });
    },
  };
}
