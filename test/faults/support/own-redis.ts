import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { partOf } from '../../../stack/grounds.ts';
import { findInPath } from '../../../stack/java-tools.ts';
import { fetchParts } from '../../../stack/local-parts.ts';
import { redisInPath, startLocalRedis } from '../../../stack/local-redis.ts';
import type { LocalService } from '../../../stack/local-service.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';

/** A Redis that no other test uses, so that it may be emptied, filled, killed and restored. */
export interface OwnRedis extends AsyncDisposable {
  readonly url: string;
  readonly service: LocalService;
  /** A client for the work of an administrator; it connects when it is needed. */
  readonly admin: Redis;
  /** Copies the present data; returns the folder of the copy. */
  copyData(): Promise<string>;
  /** Kills it, and starts it with a copy of its data, or without data. */
  restartWith(copy: string | null): Promise<void>;
}

/**
 * Starts a Redis with an append-only file, so small that Redis never rewrites it, as a local process.
 *
 * @param needsTls whether it must speak TLS, for which those of some grounds were not built; then it is the usual one
 */
export async function startOwnRedis(needsTls = false): Promise<OwnRedis> {
  const server = await redisServer(needsTls);
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-own-redis-'));
  const endJanitor = removeWhenGone(folder);
  const { signal } = new AbortController();
  const { service, url, data } = await startLocalRedis({
    server,
    folder: join(folder, 'redis'),
    allowsTrouble: true,
    signal,
  });
  const admin = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 3 });
  admin.on('error', () => undefined);
  const [copied, empty] = [join(folder, 'copy'), await mkdtemp(join(folder, 'empty-'))];
  return {
    url,
    service,
    admin,
    async copyData() {
      await cp(data, copied, { recursive: true });
      return copied;
    },
    async restartWith(copy) {
      service.kill('SIGKILL');
      await vi.waitUntil(() => !service.isRunning(), { timeout: 10_000, interval: 10 });
      await rm(data, { recursive: true });
      await cp(copy ?? empty, data, { recursive: true });
      await service.restart();
    },
    async [Symbol.asyncDispose]() {
      admin.disconnect();
      await service.stop();
      await rm(folder, { recursive: true, force: true });
      endJanitor();
    },
  };
}

/** Returns the path of the redis-server to test with; `needsTls` as for {@link startOwnRedis}. */
export async function redisServer(needsTls = false): Promise<string> {
  const inPath = needsTls ? findInPath('redis-server') : redisInPath();
  const part = needsTls ? 'redis' : partOf('redis');
  return inPath ?? join((await fetchParts([part], { print: () => undefined }))[part], 'redis-server');
}
