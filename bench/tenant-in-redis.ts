import { Redis } from 'ioredis';
import type { Config } from '../src/config.ts';
import { tenantKeys } from '../src/state/redis-keys.ts';

/** The size of an area of an index in Redis. */
export interface AreaSize {
  readonly entries: number;
  /** Including the overhead of Redis. */
  readonly bytes: number;
}

/** Sizes by area of the index of `absence-versions`, without empty areas. */
export async function indexSizes(config: Config, tenantId: string): Promise<Record<string, AreaSize>> {
  return withRedis(config, async (redis) => {
    const { areas } = tenantKeys(indexPrefix(config), tenantId).collection('absence-versions');
    const sizes: Record<string, AreaSize> = {};
    for (const [area, key] of areas) {
      const entries = await redis.hlen(key);
      // All entries count: among the usual five samples, one with long links would stand for a fifth of all.
      if (entries > 0)
        sizes[area] = { entries, bytes: (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0 };
    }
    return sizes;
  });
}

/** Removes all keys of a tenant from Redis, as if Redis was lost. */
export async function dropTenant(config: Config, tenantId: string): Promise<void> {
  await dropKeys(config, `{${indexPrefix(config)}:${tenantId}}:*`);
}

/** Removes all keys under the prefix of the configuration from Redis. */
export async function dropAll(config: Config): Promise<void> {
  if (config.redis !== undefined) await dropKeys(config, `{${config.redis.keyPrefix}:*`);
}

async function dropKeys(config: Config, pattern: string): Promise<void> {
  await withRedis(config, async (redis) => {
    for await (const keys of redis.scanStream({ match: pattern, count: 1_000 })) {
      if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
    }
  });
}

/** The same prefix as in the assembly. */
function indexPrefix({ redis, kafka }: Config): string {
  return `${redis?.keyPrefix}:${kafka.topicPrefix}`;
}

async function withRedis<T>({ redis }: Config, work: (client: Redis) => Promise<T>): Promise<T> {
  if (redis === undefined) throw new Error('the index is in memory');
  const client = new Redis(redis.url, { lazyConnect: true });
  await client.connect();
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}
