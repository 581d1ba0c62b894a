import { Redis } from 'ioredis';
import { expect, inject } from 'vitest';
import type { Mirror } from '../support/mirror.ts';

export interface RedisCopy {
  restore(): Promise<void>;
  flush(): Promise<void>;
}

/** Copies the tenant's keys, so that they can be put back later as a restore from a backup does. */
export async function copyRedis(mirror: Mirror): Promise<RedisCopy> {
  await using redis = connect();
  const values = new Map<string, Buffer>();
  for (const key of await keysOf(redis.client, mirror)) {
    const value = await redis.client.dumpBuffer(key);
    if (value !== null) values.set(key, value);
  }
  expect(values.size).toBeGreaterThan(0);
  const flush = async (): Promise<void> => {
    await using other = connect();
    const keys = await keysOf(other.client, mirror);
    expect(keys.length).toBeGreaterThan(0);
    await other.client.del(...keys);
  };
  return {
    flush,
    async restore() {
      await flush();
      await using other = connect();
      for (const [key, value] of values) await other.client.restore(key, 0, value);
    },
  };
}

/** Whether a text occurs anywhere in the tenant's keys and values. */
export async function redisHolds(mirror: Mirror, text: string): Promise<boolean> {
  await using redis = connect();
  const keys = await keysOf(redis.client, mirror);
  expect(keys.length).toBeGreaterThan(0);
  const values = await Promise.all(keys.map((key) => redis.client.hgetallBuffer(key).catch(() => ({}))));
  return values.some((hash) =>
    Object.entries(hash).some(([field, value]) => field.includes(text) || value.includes(text)),
  );
}

/** Deletes all keys of an installation, as if Redis was lost. */
export async function flushRedis(topicPrefix: string): Promise<void> {
  await using redis = connect();
  const keys = await redis.client.keys(`*${topicPrefix}*`);
  if (keys.length > 0) await redis.client.del(...keys);
}

function connect(): AsyncDisposable & { client: Redis } {
  const client = new Redis(inject('stack').redisUrl);
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.quit();
    },
  };
}

async function keysOf(redis: Redis, mirror: Mirror): Promise<string[]> {
  const found = await redis.keys(`*${mirror.topicPrefix}*`);
  return found.filter((key) => key.includes(':north:'));
}

/** How each collection was caught up at the last start. */
export function caughtUp(mirror: Mirror): Map<string, string> {
  return new Map(
    mirror.events.flatMap((event) =>
      event.type === 'caught-up' ? [[event.collection, event.how] as const] : [],
    ),
  );
}
