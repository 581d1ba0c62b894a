import { Redis } from 'ioredis';
import { RollcallError } from '../errors.ts';
import { jitteredPauseMs, type Backoff } from '../backoff.ts';
import { PackedCommand, type RedisArgument } from './packed-command.ts';
import { explainRedisError, replyCode } from './redis-errors.ts';
import type { RedisScript } from './redis-scripts.ts';

export interface RedisConnectionOptions {
  /** `redis://` or `rediss://`, with or without user name and password. */
  readonly url: string;
  readonly username?: string | undefined;
  /** Called for each connection, so that a rotated password takes effect. */
  readonly password?: (() => string) | undefined;
  /** How long a command may take, ms. */
  readonly commandTimeoutMs?: number | undefined;
  /** How long connecting may take, ms. */
  readonly connectTimeoutMs?: number | undefined;
  /** 0 to 1; spreads reconnections. */
  readonly random?: (() => number) | undefined;
}

/** Fields of a hash that a step of a scan looks at. */
const SCAN_COUNT = 1_000;
const RECONNECTIONS: Backoff = { firstMs: 50, longestMs: 5_000 };

/**
 * One connection to Redis that reconnects by itself.
 *
 * Commands are neither queued nor repeated. Without a connection a command waits for the running attempt to connect,
 * or fails at once if the last attempt failed. It fails when the connection breaks meanwhile. A command that timed out
 * may still reach Redis later, so a late write must be harmless: writes to the index name the transaction before them.
 */
export class RedisConnection {
  /** Host and port. */
  readonly address: string;
  readonly #client: Redis;
  readonly #connectTimeoutMs: number;
  #waiting: Promise<void> | null = null;
  /** Why there is no connection; null while there is one, and before the first attempt. */
  #trouble: Error | null = null;

  constructor(options: RedisConnectionOptions) {
    const { commandTimeoutMs = 10_000, connectTimeoutMs = 5_000, random = Math.random, password } = options;
    const url = new URL(options.url);
    this.address = `${url.hostname}:${url.port === '' ? '6379' : url.port}`;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#client = new Redis(options.url, {
      ...(options.username === undefined ? {} : { username: options.username }),
      ...(password === undefined ? {} : { password: password() }),
      lazyConnect: true,
      protocol: 2,
      connectTimeout: connectTimeoutMs,
      commandTimeout: commandTimeoutMs,
      // Without this, a connection that a firewall silently dropped would fail each command for a quarter of an hour.
      socketTimeout: commandTimeoutMs + 1_000,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      disableClientInfo: true,
      retryStrategy: (attempt) => {
        if (password !== undefined) this.#client.options.password = password();
        return jitteredPauseMs(RECONNECTIONS, attempt, random);
      },
      // After a failover the old primary still answers, as a replica: only a new connection finds the new primary.
      reconnectOnError: (error) => {
        const isReplica = replyCode(error) === 'READONLY';
        if (isReplica) this.#trouble = error;
        return isReplica;
      },
    });
    this.#client.on('error', (error: Error) => {
      // Redis resets the connection of one client too many, often before its reason can be read: the next attempt may.
      if (!('code' in error) || error.code !== 'ECONNRESET') this.#trouble = error;
    });
    this.#client.on('ready', () => {
      this.#trouble = null;
    });
  }

  /** Runs commands; throws `INDEX_UNREACHABLE` or `INDEX_REFUSED`. */
  async run<T>(commands: (client: Redis) => Promise<T>): Promise<T> {
    try {
      if (this.#client.status !== 'ready') await this.#connected();
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
    const count = keys.length;
    return this.run(async (client) => {
      try {
        return Number(
          await client.sendCommand(new PackedCommand('EVALSHA', [script.sha1, count], keys, ...args)),
        );
      } catch (error) {
        if (replyCode(error) !== 'NOSCRIPT') throw error;
        return Number(
          await client.sendCommand(new PackedCommand('EVAL', [script.source, count], keys, ...args)),
        );
      }
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

  close(): void {
    this.#client.disconnect();
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
    const closed = `the connection to Redis at ${this.address} is closed`;
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
      // Its rejection names no reason; the event of the error does.
      if (client.status === 'wait') client.connect().catch(() => undefined);
      if (client.status === 'end') onEnd();
      await promise;
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

/** Whether the client had no connection for a command; why, the last attempt may know. */
function isDown(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Stream isn't writeable");
}
