import { Cluster, Command, type ChainableCommander } from 'ioredis';
import { RollcallError } from '../errors.ts';
import { jitteredPauseMs, type Backoff } from '../backoff.ts';
import { addressOf, createRedisClient, type RedisClient, type RedisServers } from './redis-client.ts';
import { explainRedisError, replyCode } from './redis-errors.ts';
import type { RedisScript } from './redis-scripts.ts';

export type RedisArgument = string | Buffer | number;

export interface RedisConnectionOptions extends RedisServers {
  /** How long a command may take, ms. */
  readonly commandTimeoutMs?: number | undefined;
  /** How long connecting may take, ms. */
  readonly connectTimeoutMs?: number | undefined;
}

/** About how many fields of a hash Redis returns in one step of a scan (COUNT of HSCAN). */
const SCAN_COUNT = 1_000;
const RECONNECTIONS: Backoff = { firstMs: 50, longestMs: 5_000 };

/**
 * One connection to Redis, or one to each node of a Cluster, that reconnects by itself.
 *
 * Commands are neither queued nor repeated, except those that a node of a Cluster sends to another node without
 * executing them. Without a connection a command waits for the running attempt to connect, or fails at once if the last
 * attempt failed. It fails when the connection breaks meanwhile. A command that timed out may still reach Redis later,
 * so a late write must be harmless: writes to the index name the transaction before them.
 */
export class RedisConnection {
  /** The address of Redis in messages, without credentials. */
  readonly address: string;
  readonly #client: RedisClient;
  readonly #connectTimeoutMs: number;
  #waiting: Promise<void> | null = null;
  /** Why there is no connection; null while there is one, and before the first attempt. */
  #trouble: Error | null = null;

  constructor(options: RedisConnectionOptions) {
    const { commandTimeoutMs = 10_000, connectTimeoutMs = 5_000 } = options;
    this.address = addressOf(options);
    this.#connectTimeoutMs = connectTimeoutMs;
    const ofServer = {
      protocol: 2,
      connectTimeout: connectTimeoutMs,
      commandTimeout: commandTimeoutMs,
      // Without this, a connection that a firewall silently dropped would fail each command for a quarter of an hour.
      socketTimeout: commandTimeoutMs + 1_000,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      disableClientInfo: true,
      // After a failover the old primary still answers, as a replica: only a new connection finds the new primary.
      reconnectOnError: (error: Error) => {
        const isReplica = replyCode(error) === 'READONLY';
        if (isReplica) this.#trouble = error;
        return isReplica;
      },
    } as const;
    const pauseMs = (attempt: number) => jitteredPauseMs(RECONNECTIONS, attempt, Math.random);
    this.#client = createRedisClient(options, ofServer, pauseMs);
    this.#client.on('error', (error: Error) => this.#note(error));
    // In the end, ioredis only reports that no Sentinel helped. So keep the error of each Sentinel.
    this.#client.on('sentinelError', (error: Error) => (this.#trouble = error));
    this.#client.on('ready', () => {
      this.#trouble = null;
    });
  }

  /** Runs commands; throws `INDEX_UNREACHABLE` or `INDEX_REFUSED`. */
  async run<T>(commands: (client: RedisClient) => Promise<T>): Promise<T> {
    try {
      if (this.#client.status !== 'ready' || this.#waiting !== null) await this.#connected();
      return await commands(this.#client);
    } catch (error) {
      // A programming error is not an outage.
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      throw explainRedisError(isDown(error) ? (this.#trouble ?? error) : error, this.address);
    }
  }

  /** Runs a script that returns an integer; its arguments may come in several lists. */
  async script(
    script: RedisScript,
    keys: readonly string[],
    ...args: readonly (readonly RedisArgument[])[]
  ): Promise<number> {
    return this.run(async (client) => {
      const send = async (command: 'EVAL' | 'EVALSHA', source: string): Promise<unknown> =>
        client.sendCommand(new Command(command, [source, keys.length, ...keys, ...args.flat()]));
      const reply = await send('EVALSHA', script.sha1).catch((error: unknown) => {
        if (replyCode(error) !== 'NOSCRIPT') throw error;
        return send('EVAL', script.source);
      });
      return Number(reply);
    });
  }

  /** Runs commands in one atomic step, and returns the values of their replies. */
  transaction(ask: (commands: ChainableCommander) => unknown): Promise<readonly unknown[]> {
    return this.run(async (client) => {
      const commands = client.multi();
      ask(commands);
      const replies = await commands.exec();
      if (replies === null) throw new Error('Redis discarded a transaction');
      return replies.map(([error, value]) => {
        if (error !== null) throw error;
        return value;
      });
    });
  }

  /**
   * Yields the entries of a hash in batches, unordered; one that is there throughout comes, maybe twice. Writes between
   * two batches are allowed.
   */
  async *scan(key: string): AsyncGenerator<readonly (readonly [key: string, value: Buffer])[]> {
    let cursor = '0';
    do {
      const from = cursor;
      const [next, pairs] = await this.run((client) => client.hscanBuffer(key, from, 'COUNT', SCAN_COUNT));
      cursor = String(next);
      const entries: (readonly [string, Buffer])[] = [];
      for (let at = 1; at < pairs.length; at += 2) entries.push([String(pairs[at - 1]), pairs[at] as Buffer]);
      if (entries.length > 0) yield entries;
    } while (cursor !== '0');
  }

  /** Returns what the server, or each primary of a Cluster, says of itself. */
  infos(): Promise<readonly string[]> {
    return this.run((client) => {
      const servers = client instanceof Cluster ? client.nodes('master') : [client];
      return Promise.all(servers.map((server) => server.info()));
    });
  }

  close(): void {
    this.#client.disconnect();
  }

  #note(error: Error): void {
    if (error.message.startsWith('All sentinels are unreachable')) return;
    // If there are too many clients, Redis resets the connection, often before its reason can be read. The next attempt
    // may read the reason.
    if ('code' in error && error.code === 'ECONNRESET') return;
    // No node of a Cluster helped; the last one says why.
    const { lastNodeError } = error as { readonly lastNodeError?: Error | null };
    this.#trouble = lastNodeError ?? error;
  }

  /** Connects, or waits for the running attempt; rejects with the reason of the first attempt that fails. */
  #connected(): Promise<void> {
    if (this.#client.status === 'reconnecting' && this.#trouble !== null)
      return Promise.reject(this.#trouble);
    this.#waiting ??= this.#attempt().finally(() => {
      this.#waiting = null;
    });
    return this.#waiting;
  }

  async #attempt(): Promise<void> {
    const client = this.#client;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const closed = `The connection to Redis at ${this.address} is closed`;
    const onEnd = () =>
      reject(new RollcallError('INDEX_UNREACHABLE', closed, { remedy: 'Start Rollcall again.' }));
    const onTimeout = () => reject(this.#trouble ?? new Error('no connection in time'));
    const timer = setTimeout(onTimeout, this.#connectTimeoutMs);
    const loadingTimer = setTimeout(() => void this.#noteLoading(), this.#connectTimeoutMs / 3);
    const onError = () => {
      if (this.#trouble !== null) reject(this.#trouble);
    };
    client.once('ready', resolve).on('error', onError).once('end', onEnd);
    try {
      // The rejection of connect() names no reason; the event `error` does.
      if (client.status === 'wait') client.connect().catch(() => undefined);
      if (client.status === 'end') onEnd();
      await promise;
      // A node takes no commands while it connects.
      if (client instanceof Cluster)
        await Promise.allSettled(client.nodes('master').map((node) => node.connect()));
    } finally {
      clearTimeout(timer);
      clearTimeout(loadingTimer);
      client.off('ready', resolve).off('error', onError).off('end', onEnd);
    }
  }

  /** The client waits until Redis has loaded its data, and does not say so. */
  async #noteLoading(): Promise<void> {
    const info = await this.#client.info('persistence').catch(() => '');
    if (/^loading:1/m.test(info)) this.#trouble = Object.assign(new Error('LOADING'), { name: 'ReplyError' });
  }
}

/** Whether the client had no connection for a command. The last attempt to connect may know why. */
function isDown(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(Stream isn't writeable|Connection is closed|Cluster isn't ready)/.test(error.message)
  );
}
