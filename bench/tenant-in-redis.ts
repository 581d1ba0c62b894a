import { Redis } from 'ioredis';
import type { Config } from '../src/config.ts';
import { tenantKeys } from '../src/state/redis-keys.ts';

/** What an area of an index takes in Redis. */
export interface AreaSize {
  readonly entries: number;
  /** With everything that Redis needs for it. */
  readonly bytes: number;
}

/** Sizes by area of the index of `absence-versions`; areas that hold nothing are left out. */
export async function indexSizes(config: Config, tenantId: string): Promise<Record<string, AreaSize>> {
  return withRedis(config, async (redis) => {
    const { areas } = tenantKeys(indexPrefix(config), tenantId).collection('absence-versions');
    const sizes: Record<string, AreaSize> = {};
    for (const [area, key] of areas) {
      const entries = await redis.hlen(key);
      // Of all entries: of the five that are sampled else, one with long links would stand for a fifth of all.
      if (entries > 0)
        sizes[area] = { entries, bytes: (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0 };
    }
    return sizes;
  });
}

/** Removes all that Redis holds of a tenant, as a lost Redis would. */
export async function dropTenant(config: Config, tenantId: string): Promise<void> {
  const tenant = `{${indexPrefix(config)}:${tenantId}`;
  for (const pattern of [`${tenant}}:*`, `${tenant}:*`]) await dropKeys(config, pattern);
}

/** Removes all that Redis holds under the configuration's prefix. */
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

/** As the assembly has it. */
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
