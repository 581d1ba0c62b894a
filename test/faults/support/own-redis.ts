import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { findInPath } from '../../../stack/java-tools.ts';
import { fetchParts } from '../../../stack/local-parts.ts';
import { startLocalRedis } from '../../../stack/local-redis.ts';
import type { LocalService } from '../../../stack/local-service.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';

/** A Redis that no other test uses, so that it may be emptied, filled, killed and restored. */
export interface OwnRedis extends AsyncDisposable {
  readonly url: string;
  /** `host:port` */
  readonly address: string;
  readonly service: LocalService;
  /** A client for the work of an administrator; it connects when it is needed. */
  readonly admin: Redis;
  /** Kills Redis with SIGKILL. */
  crash(): Promise<void>;
  /** Starts Redis again, with the data of its append-only file or without data. */
  comeBack(options: { withData: boolean }): Promise<void>;
  /** Copies the present data. */
  backUp(): Promise<RedisBackup>;
}

export interface RedisBackup {
  /** Kills Redis and starts it with the data of the backup. */
  restore(): Promise<void>;
}

/** Starts a Redis with an append-only file, as a local process. */
export async function startOwnRedis(): Promise<OwnRedis> {
  const inPath = findInPath('redis-server');
  const server =
    inPath ?? join((await fetchParts(['redis'], { print: () => undefined })).redis, 'redis-server');
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-own-redis-'));
  const endJanitor = removeWhenGone(folder);
  const { signal } = new AbortController();
  const { service, url, data } = await startLocalRedis({ server, folder: join(folder, 'redis'), signal });
  const empty = async (): Promise<void> => {
    await rm(data, { recursive: true });
    await mkdir(data);
  };
  const admin = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 3 });
  admin.on('error', () => undefined);
  let backups = 0;
  return {
    url,
    address: new URL(url).host,
    service,
    admin,
    crash: () => kill(service),
    async comeBack({ withData }) {
      if (!withData) await empty();
      await service.restart();
    },
    async backUp() {
      const copy = join(folder, `backup-${(backups += 1)}`);
      await stopRewriting(admin);
      await cp(data, copy, { recursive: true });
      return {
        async restore() {
          await kill(service);
          await empty();
          await cp(copy, data, { recursive: true });
          await service.restart();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      admin.disconnect();
      await service.stop();
      await rm(folder, { recursive: true, force: true });
      endJanitor();
    },
  };
}

/** The files may be exchanged only after the process is gone. */
async function kill(service: LocalService): Promise<void> {
  service.kill('SIGKILL');
  await vi.waitUntil(() => !service.isRunning(), { timeout: 10_000, interval: 10 });
}

/** Makes Redis only append, so that it does not exchange its files while they are copied. */
async function stopRewriting(admin: Redis): Promise<void> {
  await admin.config('SET', 'auto-aof-rewrite-percentage', '0');
  await vi.waitUntil(
    async () => !/^aof_rewrite_(in_progress|scheduled):1/m.test(await admin.info('persistence')),
    { timeout: 30_000, interval: 20 },
  );
}
