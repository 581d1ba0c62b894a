import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { canListen, freePort } from '../../../stack/free-port.ts';
import { partOf } from '../../../stack/grounds.ts';
import { findInPath } from '../../../stack/java-tools.ts';
import { fetchParts } from '../../../stack/local-parts.ts';
import { redisInPath, startLocalRedis } from '../../../stack/local-redis.ts';
import type { LocalService } from '../../../stack/local-service.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import type { Certificates } from '../../integration/security/support/certificates.ts';

/** A server of Redis that no other test uses. */
export interface RedisNode {
  /** Where clients and other servers reach it. */
  readonly port: number;
  readonly service: LocalService;
  /** A client for the work of an administrator, without TLS; it connects when it is needed. */
  readonly admin: Redis;
  /** The folder with its data and nothing else. */
  readonly data: string;
}

export interface RedisNodeOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** If given, clients and other servers reach it by TLS, and need a certificate. */
  readonly certificates?: Certificates | undefined;
}

/**
 * Starts a server in a folder of its own, with an append-only file so small that Redis never rewrites it. The server ends with
 * `parts`.
 */
export async function startRedisNode(
  parts: AsyncDisposableStack,
  folder: string,
  { settings, certificates }: RedisNodeOptions = {},
): Promise<RedisNode> {
  const { signal } = new AbortController();
  const tlsPort = certificates && (await portForNode());
  const { service, url, data } = await startLocalRedis({
    server: await redisServer(certificates !== undefined),
    folder: await mkdtemp(join(folder, 'redis-')),
    allowsTrouble: true,
    settings: { ...settings, ...(certificates && tlsPort && tlsSettings(certificates, tlsPort)) },
    signal,
  });
  parts.defer(() => service.stop());
  return { port: tlsPort ?? Number(new URL(url).port), service, admin: clientOf(parts, url), data };
}

/** Makes a folder for servers, which goes with `parts`. */
export async function redisFolder(parts: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-redis-nodes-'));
  parts.defer(removeWhenGone(folder));
  parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A client that ends with `parts`. */
export function clientOf(parts: AsyncDisposableStack, url: string): Redis {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 3 });
  client.on('error', () => undefined);
  parts.defer(() => client.disconnect());
  return client;
}

/** The bus of a Cluster is 10,000 ports above. */
export async function portForNode(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (await canListen(port + 10_000)) return port;
  }
}

/**
 * Returns the path of the redis-server to test with.
 *
 * @param needsTls whether it must speak TLS, for which those of some grounds were not built; then it is the usual one
 */
export async function redisServer(needsTls: boolean): Promise<string> {
  const inPath = needsTls ? findInPath('redis-server') : redisInPath();
  const part = needsTls ? 'redis' : partOf('redis');
  return inPath ?? join((await fetchParts([part], { print: () => undefined }))[part], 'redis-server');
}

/** The settings of a server that others reach at this port by TLS, and that reaches others by TLS. */
export function tlsSettings({ ca, server }: Certificates, port: number): Readonly<Record<string, string>> {
  return {
    'tls-port': String(port),
    'tls-ca-cert-file': ca,
    'tls-cert-file': server.cert,
    'tls-key-file': server.key,
    'tls-auth-clients': 'yes',
    'tls-replication': 'yes',
    'tls-cluster': 'yes',
  };
}

/** The address of servers at these ports, and the certificate for it if they want one. */
export async function addressOf(ports: readonly number[], certificates: Certificates | undefined) {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  if (certificates === undefined) return { url: `redis://${hosts}` };
  const { ca, client } = certificates;
  const read = (file: string) => readFile(file, 'utf8');
  const tls = { ca: await read(ca), cert: await read(client.cert), key: await read(client.key) };
  return { url: `rediss://${hosts}`, tls };
}
