import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import { startLocalService } from '../../../stack/local-service.ts';
import { isRedisReady } from '../../../stack/readiness.ts';
import type { Certificates } from '../../integration/security/support/certificates.ts';
import {
  addressOf,
  clientOf,
  portForNode,
  redisFolder,
  redisServer,
  startRedisNode,
  tlsSettings,
  type RedisNode,
} from './redis-node.ts';

/** A primary with two replicas, watched by three Sentinels. */
export type SentinelRedis = Awaited<ReturnType<typeof startSentinelRedis>>;

const MASTER = 'school';

/** Starts the servers and the Sentinels; see {@link startRedisNode} about their certificates. */
export async function startSentinelRedis(certificates?: Certificates) {
  const parts = new AsyncDisposableStack();
  const folder = await redisFolder(parts);
  const nodes = await Promise.all([1, 2, 3].map(() => startRedisNode(parts, folder, { certificates })));
  const [first, ...replicas] = nodes as [RedisNode, ...RedisNode[]];
  for (const { admin } of replicas) await admin.replicaof('127.0.0.1', first.port);
  const start = () => startSentinel(parts, folder, first.port, certificates);
  const sentinels = await Promise.all([1, 2, 3].map(start));
  const admin = clientOf(parts, sentinels[0]?.adminUrl ?? '');
  const primary = async (): Promise<RedisNode> => {
    const address = (await admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)) as string[] | null;
    const found = nodes.find(({ port }) => String(port) === address?.[1]);
    if (found === undefined) throw new Error(`no server at ${String(address)}`);
    return found;
  };
  await vi.waitFor(async () => {
    const state = await admin.info('sentinel');
    if (!/slaves=2,sentinels=3/.test(state)) throw new Error(`not all know each other: ${state}`);
  });
  return {
    ...(await addressOf(
      sentinels.map(({ port }) => port),
      certificates,
    )),
    sentinel: { master: MASTER },
    /** A client of the first Sentinel. */
    admin,
    /** The address of a replica. */
    replicaUrl: `redis://127.0.0.1:${replicas[0]?.port}`,
    /** What the Sentinels hold for the primary now. */
    primary,
    /** Waits until the Sentinels have made another server the primary. */
    async failedOver(from: RedisNode): Promise<void> {
      await vi.waitFor(async () => {
        const { port, admin } = await primary();
        const isThere = port !== from.port && /^role:master/m.test(await admin.info('replication'));
        if (!isThere) throw new Error('the Sentinels hold on to the old primary');
      });
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** Returns the port for clients. Sentinel keeps its state in its configuration. */
async function startSentinel(
  parts: AsyncDisposableStack,
  within: string,
  primary: number,
  certificates: Certificates | undefined,
): Promise<{ readonly port: number; readonly adminUrl: string }> {
  const [adminPort, tlsPort] = [await portForNode(), await portForNode()];
  const folder = await mkdtemp(join(within, 'sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const settings = {
    port: String(adminPort),
    bind: '127.0.0.1',
    dir: folder,
    ...(certificates && tlsSettings(certificates, tlsPort)),
  };
  const lines = [
    ...Object.entries(settings).map((pair) => pair.join(' ')),
    `sentinel monitor ${MASTER} 127.0.0.1 ${primary} 2`,
    `sentinel down-after-milliseconds ${MASTER} 2000`,
    `sentinel failover-timeout ${MASTER} 5000`,
  ];
  await writeFile(file, lines.join('\n'));
  const adminUrl = `redis://127.0.0.1:${adminPort}`;
  const command = {
    name: 'Sentinel',
    command: await redisServer(certificates !== undefined),
    args: [file, '--sentinel'],
    folder,
    isReady: () => isRedisReady(adminUrl),
    readyTimeoutMs: 30_000,
    stopTimeoutMs: 10_000,
  };
  const service = await startLocalService(command, new AbortController().signal);
  parts.defer(() => service.stop());
  return { port: certificates === undefined ? adminPort : tlsPort, adminUrl };
}
