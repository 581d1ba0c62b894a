import type { ConnectionOptions } from 'node:tls';
import { Cluster, Redis, type ClusterOptions } from 'ioredis';

/** Where Redis is, and how to log in. */
export interface RedisServers {
  /**
   * `redis://` or `rediss://`, with or without user name and password: one server, Sentinels, or some nodes of a Cluster.
   * Several hosts are written in one address, with commas between them.
   */
  readonly url: string;
  /** The servers of `url` are Sentinels, which know the primary by the name `master`. */
  readonly sentinel?:
    | {
        readonly master: string;
        readonly username?: string | undefined;
        readonly password?: (() => string) | undefined;
      }
    | undefined;
  /** The servers of `url` are nodes of a Cluster. */
  readonly cluster?: boolean | undefined;
  readonly username?: string | undefined;
  /** Called for each connection, so that a rotated password takes effect. */
  readonly password?: (() => string) | undefined;
  /** For `rediss://`. Its getters are called for each connection, so that replaced certificates take effect. */
  readonly tls?: ConnectionOptions | undefined;
}

export type RedisClient = Redis | Cluster;
/** The options of the connection to each server. */
type ServerOptions = Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>;

/** Returns where Redis is, for people: without credentials. */
export function addressOf(servers: RedisServers): string {
  const hosts = hostsOf(servers).map(({ host, port }) => `${host}:${port}`);
  const { sentinel } = servers;
  return sentinel === undefined ? hosts.join(', ') : `${sentinel.master} (Sentinel ${hosts.join(', ')})`;
}

/**
 * Creates the client of these servers, without a connection. `ofServer`: the options of the connection to each server
 * of Redis. `pauseMs`: returns the pause before an attempt to connect; `attempt` is 1 for the first one.
 */
export function createRedisClient(
  servers: RedisServers,
  ofServer: ServerOptions,
  pauseMs: (attempt: number) => number,
): RedisClient {
  const { url, sentinel, cluster = false, username, password } = servers;
  const tls = url.startsWith('rediss:') ? (servers.tls ?? {}) : undefined;
  const options: ServerOptions = {
    ...ofServer,
    ...(username === undefined ? {} : { username }),
    ...(tls === undefined ? {} : { tls }),
    lazyConnect: true,
  };
  if (cluster) {
    const client = new Cluster([...hostsOf(servers)], {
      redisOptions: options,
      lazyConnect: true,
      // Nothing would bound how long a command waits in this queue.
      enableOfflineQueue: false,
      clusterRetryStrategy: pauseMs,
      // The reply to a command says that a Cluster is down, while this check would only wait.
      enableReadyCheck: false,
      // A command that may have been executed is not repeated. One that a node sends elsewhere has not been executed.
      retryDelayOnFailover: 0,
      slotsRefreshTimeout: ofServer.connectTimeout ?? 5_000,
      // Certificates have host names, and the address behind the endpoint of a managed Redis may change.
      dnsLookup: (host, found) => found(null, host),
    });
    client.on('+node', (node: Redis) => readAnew(node, 'password', password));
    return client;
  }
  const single = { ...options, enableOfflineQueue: false, retryStrategy: pauseMs };
  const client =
    sentinel === undefined
      ? new Redis(url, single)
      : new Redis({
          ...single,
          sentinels: [...hostsOf(servers)],
          name: sentinel.master,
          db: Number(/\/(\d+)$/.exec(url)?.[1] ?? 0),
          ...(sentinel.username === undefined ? {} : { sentinelUsername: sentinel.username }),
          ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
          // The Sentinels in the configuration are enough, and may call each other by addresses that lead nowhere here.
          updateSentinels: false,
          sentinelCommandTimeout: 5_000,
          sentinelRetryStrategy: pauseMs,
        });
  readAnew(client, 'password', password);
  readAnew(client, 'sentinelPassword', sentinel?.password);
  return client;
}

function hostsOf({ url, sentinel }: RedisServers): readonly { host: string; port: number }[] {
  const hosts = /^\w+:\/\/(?:.*@)?([^/]*)/.exec(url)?.[1] ?? '';
  return hosts.split(',').map((each) => {
    const { hostname, port } = new URL(`redis://${each}`);
    const usual = sentinel === undefined ? 6379 : 26_379;
    return { host: hostname.replaceAll(/^\[|\]$/g, ''), port: port === '' ? usual : Number(port) };
  });
}

/** ioredis reads its options at each connection. */
function readAnew(
  { options }: Redis,
  name: 'password' | 'sentinelPassword',
  read: (() => string) | undefined,
): void {
  if (read !== undefined) Object.defineProperty(options, name, { enumerable: true, get: read });
}
