import { Redis } from 'ioredis';
import { expect, inject } from 'vitest';
import type { Mirror } from '../support/mirror.ts';

/** Copies the keys of an installation, so that they can be put back later as a restore from a backup does. */
export async function copyRedis(topicPrefix: string) {
  await using redis = connect();
  const values = new Map<string, Buffer>();
  for (const key of await redis.client.keys(`*${topicPrefix}*`)) {
    const value = await redis.client.dumpBuffer(key);
    if (value !== null) values.set(key, value);
  }
  expect(values.size).toBeGreaterThan(0);
  return {
    async restore() {
      await flushRedis(topicPrefix);
      await using other = connect();
      for (const [key, value] of values) await other.client.restore(key, 0, value);
    },
  };
}

/** Whether a text occurs anywhere in the tenant's keys and values. */
export async function redisHolds(mirror: Mirror, text: string): Promise<boolean> {
  const texts = await redisTexts(mirror);
  expect(texts.length).toBeGreaterThan(0);
  return texts.some(({ bytes }) => bytes.includes(text));
}

/** Every key of the tenant with all that it holds, whatever its type. */
export async function redisTexts(mirror: Mirror): Promise<{ key: string; bytes: Buffer }[]> {
  await using redis = connect();
  const { client } = redis;
  const readers: Readonly<Record<string, (key: string) => Promise<readonly (Buffer | null)[]>>> = {
    hash: async (key) =>
      Object.entries(await client.hgetallBuffer(key)).flatMap(([field, value]) => [
        Buffer.from(field),
        value,
      ]),
    string: async (key) => [await client.getBuffer(key)],
    list: (key) => client.lrangeBuffer(key, 0, -1),
  };
  return await Promise.all(
    (await client.keys(`*${mirror.topicPrefix}*`)).map(async (key) => {
      const type = await client.type(key);
      const read = readers[type];
      // It may have expired meanwhile.
      if (read === undefined && type !== 'none') throw new Error(`${key} is a ${type}`);
      const parts = (await read?.(key)) ?? [];
      const separated = parts.flatMap((part) => [part ?? Buffer.alloc(0), Buffer.from('\n')]);
      return { key, bytes: Buffer.concat([Buffer.from(`${key}\n`), ...separated]) };
    }),
  );
}

/** Deletes all keys of an installation, as if Redis was lost. */
export async function flushRedis(topicPrefix: string): Promise<void> {
  await using redis = connect();
  const keys = await redis.client.keys(`*${topicPrefix}*`);
  if (keys.length > 0) await redis.client.del(...keys);
}

export function connect(): AsyncDisposable & { client: Redis } {
  const client = new Redis(inject('stack').redisUrl);
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.quit();
    },
  };
}

/** How each collection was caught up at the last start. */
export function caughtUp(mirror: Mirror): Map<string, string> {
  return new Map(
    mirror.events.flatMap((event) =>
      event.type === 'caught-up' ? [[event.collection, event.how] as const] : [],
    ),
  );
}
