import { RedisConnection, type RedisConnectionOptions } from './redis-connection.ts';

/** Facts from Redis' INFO. A field is null if INFO lacks it, as with some managed services. */
export interface RedisFacts {
  /** Host and port. */
  readonly address: string;
  readonly version: string | null;
  readonly evictionPolicy: string | null;
  readonly usedBytes: number | null;
  /** 0: no limit. */
  readonly maxBytes: number | null;
}

/** Reads INFO. Throws `INDEX_UNREACHABLE` or `INDEX_REFUSED`. */
export async function inspectRedis(options: RedisConnectionOptions): Promise<RedisFacts> {
  const connection = new RedisConnection(options);
  try {
    const info = await connection.run((client) => client.info());
    const field = (name: string): string | null =>
      new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(info)?.[1] ?? null;
    const bytes = (name: string): number | null => {
      const text = field(name);
      return text === null ? null : Number(text);
    };
    return {
      address: connection.address,
      version: field('redis_version'),
      evictionPolicy: field('maxmemory_policy'),
      usedBytes: bytes('used_memory'),
      maxBytes: bytes('maxmemory'),
    };
  } finally {
    connection.close();
  }
}
