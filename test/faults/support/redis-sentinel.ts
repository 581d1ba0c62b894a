import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { freePort } from '../../../stack/free-port.ts';
import { startLocalRedis } from '../../../stack/local-redis.ts';
import { startLocalService, type LocalService } from '../../../stack/local-service.ts';
import { isRedisReady } from '../../../stack/readiness.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import { redisServer } from './own-redis.ts';

/** A server of Redis that belongs to others. */
export interface RedisNode {
  readonly port: number;
  readonly service: LocalService;
  readonly admin: Redis;
}

/** A primary with two replicas, watched by three Sentinels. */
export interface SentinelRedis extends AsyncDisposable {
  /** All Sentinels. */
  readonly url: string;
  readonly sentinel: { readonly master: string };
  /** A client of the first Sentinel. */
  readonly admin: Redis;
  /** The address of a replica. */
  readonly replicaUrl: string;
  /** What the Sentinels hold for the primary now. */
  primary(): Promise<RedisNode>;
  /** Tells the Sentinels to change the primary, as soon as they are done with an earlier change. */
  failOver(): Promise<void>;
  /** Waits until the Sentinels have made another server the primary. */
  failedOver(from: RedisNode): Promise<void>;
}

const MASTER = 'school';
const SOON = { timeout: 120_000, interval: 100 };

/** Starts a server with settings of its own in a folder of its own; it ends with `parts`. */
export async function startRedisNode(
  parts: AsyncDisposableStack,
  folder: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisNode> {
  const { signal } = new AbortController();
  const server = await redisServer();
  const { service, url } = await startLocalRedis({
    server,
    folder: await mkdtemp(join(folder, 'redis-')),
    allowsTrouble: true,
    settings,
    signal,
  });
  parts.defer(() => service.stop());
  return { port: Number(new URL(url).port), service, admin: clientOf(parts, url) };
}

/** Makes a folder for servers, which goes with `parts`. */
export async function redisFolder(parts: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-redis-nodes-'));
  parts.defer(removeWhenGone(folder));
  parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

function clientOf(parts: AsyncDisposableStack, url: string): Redis {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 3 });
  client.on('error', () => undefined);
  parts.defer(() => client.disconnect());
  return client;
}

export async function startSentinelRedis(): Promise<SentinelRedis> {
  const parts = new AsyncDisposableStack();
  const folder = await redisFolder(parts);
  const nodes = await Promise.all([1, 2, 3].map(() => startRedisNode(parts, folder)));
  const [first, ...replicas] = nodes as [RedisNode, ...RedisNode[]];
  for (const { admin } of replicas) await admin.replicaof('127.0.0.1', first.port);
  const ports = await Promise.all([1, 2, 3].map(() => startSentinel(parts, folder, first.port)));
  const admin = clientOf(parts, `redis://127.0.0.1:${ports[0]}`);
  const primary = async (): Promise<RedisNode> => {
    const address = (await admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)) as string[] | null;
    const found = nodes.find(({ port }) => String(port) === address?.[1]);
    if (found === undefined) throw new Error(`no server at ${String(address)}`);
    return found;
  };
  await vi.waitFor(async () => {
    const state = await admin.info('sentinel');
    if (!/slaves=2,sentinels=3/.test(state)) throw new Error(`not all know each other: ${state}`);
  }, SOON);
  return {
    url: `redis://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    sentinel: { master: MASTER },
    admin,
    replicaUrl: `redis://127.0.0.1:${replicas[0]?.port}`,
    primary,
    failOver: () => vi.waitFor(async () => void (await admin.call('SENTINEL', 'FAILOVER', MASTER)), SOON),
    async failedOver(from) {
      await vi.waitFor(async () => {
        const { port, admin } = await primary();
        const isThere = port !== from.port && /^role:master/m.test(await admin.info('replication'));
        if (!isThere) throw new Error('the Sentinels hold on to the old primary');
      }, SOON);
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** Returns its port. Sentinel keeps its state in its configuration. */
async function startSentinel(parts: AsyncDisposableStack, within: string, primary: number): Promise<number> {
  const port = await freePort();
  const folder = await mkdtemp(join(within, 'sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const watched = [
    `monitor ${MASTER} 127.0.0.1 ${primary} 2`,
    `down-after-milliseconds ${MASTER} 2000`,
    `failover-timeout ${MASTER} 5000`,
  ];
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    ...watched.map((each) => `sentinel ${each}`),
  ];
  await writeFile(file, lines.join('\n'));
  const command = {
    name: 'Sentinel',
    command: await redisServer(),
    args: [file, '--sentinel'],
    folder,
    isReady: () => isRedisReady(`redis://127.0.0.1:${port}`),
    readyTimeoutMs: 30_000,
    stopTimeoutMs: 10_000,
  };
  const service = await startLocalService(command, new AbortController().signal);
  parts.defer(() => service.stop());
  return port;
}
