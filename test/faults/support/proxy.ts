import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../stack/free-port.ts';

/** Sees the data of one connection, and may delay it: a chunk is forwarded when the promise resolves. */
export interface ProxyTap {
  up(chunk: Buffer): Promise<Buffer>;
  down(chunk: Buffer): Promise<Buffer>;
}

export interface ProxyOptions {
  /** `host:port` */
  readonly target: string;
  /** Of 127.0.0.1; default: a free one. */
  readonly port?: number | undefined;
  /** Called for each connection. */
  readonly tap?: (() => ProxyTap) | undefined;
}

export interface Slowness {
  /** In each direction, for each connection. */
  readonly bytesPerSecond?: number | undefined;
  /** The delay of each chunk. */
  readonly latencyMs?: number | undefined;
}

/** A proxy for TCP connections that simulates the troubles of networks. */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** The number of present connections. */
  readonly connections: number;
  /** The number of chunks that wait because the proxy is stalled or slow. */
  readonly held: number;
  /** Breaks all connections and accepts no new one. */
  cut(): void;
  /** Breaks all connections by RST (RFC 9293, 3.10.7.4); new ones are accepted. */
  reset(): void;
  /** Silently holds back all data, which arrives once the proxy is mended. */
  stall(): void;
  /** Forgets the present connections, as a firewall does: nothing more arrives on them, not even an end; new ones work. */
  halfOpen(): void;
  slow(slowness: Slowness): void;
  /** Ends `cut`, `stall` and `slow`. */
  mend(): void;
}

export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const proxy = new RunningProxy(options, options.port ?? (await freePort()));
  await proxy.listen();
  return proxy;
}

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
  isForgotten: boolean;
}

/** A side that has sent everything may still receive. */
const HALVES = { allowHalfOpen: true };
const PIECES_PER_SECOND = 10;
const NO_TAP: ProxyTap = { up: (chunk) => Promise.resolve(chunk), down: (chunk) => Promise.resolve(chunk) };

class RunningProxy implements Proxy {
  readonly port: number;
  readonly #options: ProxyOptions;
  readonly #connections = new Set<Connection>();
  #held = 0;
  readonly #server = createServer(HALVES, (client) => this.#accept(client));
  #isCut = false;
  #slowness: Slowness = {};
  #stalled: PromiseWithResolvers<void> | null = null;

  constructor(options: ProxyOptions, port: number) {
    this.#options = options;
    this.port = port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get connections(): number {
    return this.#connections.size;
  }

  get held(): number {
    return this.#held;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  cut(): void {
    this.#isCut = true;
    this.reset();
  }

  reset(): void {
    for (const { client, upstream } of this.#connections) {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
  }

  stall(): void {
    this.#stalled ??= Promise.withResolvers();
  }

  halfOpen(): void {
    for (const connection of this.#connections) connection.isForgotten = true;
  }

  slow(slowness: Slowness): void {
    this.#slowness = slowness;
  }

  mend(): void {
    this.#isCut = false;
    this.#slowness = {};
    this.#stalled?.resolve();
    this.#stalled = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    this.mend();
    await closed;
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isCut) {
      client.resetAndDestroy();
      return;
    }
    const target = new URL(`tcp://${this.#options.target}`);
    const upstream = connect({ ...HALVES, port: Number(target.port), host: target.hostname });
    upstream.on('error', () => undefined);
    const connection: Connection = { client, upstream, isForgotten: false };
    this.#connections.add(connection);
    const tap = this.#options.tap?.() ?? NO_TAP;
    void this.#relay(connection, client, upstream, (chunk) => tap.up(chunk));
    void this.#relay(connection, upstream, client, (chunk) => tap.down(chunk));
    // Forgotten connections stay open, whatever their ends do, until they are broken.
    const closed = [client, upstream].map(
      (socket) => new Promise<void>((resolve) => void socket.once('close', () => resolve())),
    );
    void Promise.all(closed).then(() => this.#connections.delete(connection));
  }

  /** Never rejects. */
  async #relay(
    connection: Connection,
    from: Socket,
    to: Socket,
    attempt: (chunk: Buffer) => Promise<Buffer>,
  ): Promise<void> {
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        for (const piece of this.#pieces(chunk)) {
          this.#held += 1;
          await this.#takeTime(piece.length);
          this.#held -= 1;
          const seen = await attempt(piece);
          if (seen.length > 0 && !connection.isForgotten && to.writable) to.write(seen);
        }
      }
    } catch {
      // A broken connection is the purpose of this proxy.
    }
    await this.#stalled?.promise;
    if (connection.isForgotten) return;
    to.end();
    // Without this the other side would take a reset for an ordinary end.
    if (from.errored !== null) to.destroy();
  }

  /** A slow line delivers bit by bit; it does not wait and then deliver everything at once. */
  #pieces(chunk: Buffer): Buffer[] {
    const { bytesPerSecond } = this.#slowness;
    if (bytesPerSecond === undefined) return [chunk];
    const size = Math.max(1, Math.floor(bytesPerSecond / PIECES_PER_SECOND));
    const count = Math.ceil(chunk.length / size);
    return Array.from({ length: count }, (_, at) => chunk.subarray(at * size, (at + 1) * size));
  }

  async #takeTime(bytes: number): Promise<void> {
    await this.#stalled?.promise;
    const { bytesPerSecond, latencyMs = 0 } = this.#slowness;
    const waitMs = latencyMs + (bytesPerSecond === undefined ? 0 : (bytes / bytesPerSecond) * 1000);
    if (waitMs > 0) await delay(waitMs);
    await this.#stalled?.promise;
  }
}
