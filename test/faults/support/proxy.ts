import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../stack/free-port.ts';

/**
 * `cut`: connections break, and no new one is accepted. `stall`: all data is held back silently. `slow`: each chunk takes a
 * while. `half-open`: nothing more arrives on the present connections, not even an end, as after a firewall forgot them; new
 * ones work. `reset`: connections break by RST (RFC 9293, 3.10.7.4); new ones work.
 */
export const TROUBLES = ['cut', 'stall', 'slow', 'half-open', 'reset'] as const;

export type Trouble = (typeof TROUBLES)[number];

/** Sees the requests and the answers of one connection, each whole and before it is passed on. */
export interface FrameWatch {
  readonly sent: (request: Buffer) => Promise<void>;
  readonly answered: (answer: Buffer) => Promise<void>;
}

interface ProxyOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** For a protocol whose frames begin with their length in four bytes: a watch for each new connection. */
  readonly watch?: () => FrameWatch;
}

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
  isForgotten: boolean;
}

/** A side that has sent everything may still receive. */
const HALVES = { allowHalfOpen: true };
const SLOW_MS = 20;
const LENGTH_BYTES = 4;

/** A proxy for TCP connections that makes the troubles of networks. */
export class Proxy implements AsyncDisposable {
  /** `127.0.0.1:port` */
  readonly address: string;
  readonly #target: URL;
  readonly #watch: ProxyOptions['watch'];
  readonly #connections = new Set<Connection>();
  readonly #server = createServer(HALVES, (client) => this.#accept(client));
  #held = 0;
  #isCut = false;
  #latencyMs = 0;
  #stalled: PromiseWithResolvers<void> | null = null;

  constructor(target: string, { port, watch }: ProxyOptions & { readonly port: number }) {
    this.#target = new URL(`tcp://${target}`);
    this.#watch = watch;
    this.address = `127.0.0.1:${port}`;
  }

  /** The number of chunks that wait because the proxy is stalled or slow. */
  get held(): number {
    return this.#held;
  }

  async listen(): Promise<void> {
    const { port } = new URL(`tcp://${this.address}`);
    this.#server.listen(Number(port), '127.0.0.1');
    await once(this.#server, 'listening');
  }

  begin(trouble: Trouble): void {
    if (trouble === 'cut') this.#isCut = true;
    if (trouble === 'stall') this.#stalled ??= Promise.withResolvers();
    if (trouble === 'slow') this.#latencyMs = SLOW_MS;
    for (const connection of this.#connections) {
      if (trouble === 'half-open') connection.isForgotten = true;
      if (trouble !== 'cut' && trouble !== 'reset') continue;
      connection.client.resetAndDestroy();
      connection.upstream.resetAndDestroy();
    }
  }

  /** Ends `cut`, `stall` and `slow`; what was held back arrives. */
  mend(): void {
    this.#isCut = false;
    this.#latencyMs = 0;
    this.#stalled?.resolve();
    this.#stalled = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.begin('cut');
    this.mend();
    await closed;
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isCut) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ ...HALVES, port: Number(this.#target.port), host: this.#target.hostname });
    upstream.on('error', () => undefined);
    const connection: Connection = { client, upstream, isForgotten: false };
    this.#connections.add(connection);
    const watch = this.#watch?.();
    void this.#relay(connection, { from: client, to: upstream, see: watch?.sent });
    void this.#relay(connection, { from: upstream, to: client, see: watch?.answered });
    // Forgotten connections stay open, whatever their ends do, until they are broken.
    const closed = [client, upstream].map(
      (socket) => new Promise((resolve) => socket.once('close', resolve)),
    );
    void Promise.all(closed).then(() => this.#connections.delete(connection));
  }

  /** Never rejects. */
  async #relay(
    connection: Connection,
    { from, to, see }: { from: Socket; to: Socket; see: ((frame: Buffer) => Promise<void>) | undefined },
  ): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.#held += 1;
        await this.#stalled?.promise;
        if (this.#latencyMs > 0) await delay(this.#latencyMs);
        await this.#stalled?.promise;
        this.#held -= 1;
        rest = Buffer.concat([rest, chunk]);
        const unitIn = see === undefined ? ({ length }: Buffer) => length : frameLength;
        for (let end = unitIn(rest); end <= rest.length && end > 0; end = unitIn(rest)) {
          const unit = rest.subarray(0, end);
          rest = rest.subarray(end);
          await see?.(unit);
          if (!connection.isForgotten && to.writable) to.write(unit);
        }
      }
    } catch {
      // A broken connection is the purpose of this proxy.
    }
    await this.#stalled?.promise;
    if (connection.isForgotten) return;
    // A reset or refused connection is one for the other side, too: clients tell it from an ordinary end.
    if (from.errored === null) to.end();
    else to.resetAndDestroy();
  }
}

/** The bytes of the first frame, which may not be there yet. */
function frameLength(bytes: Buffer): number {
  return bytes.length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + bytes.readInt32BE();
}

/** The address of a service by way of a proxy before it. */
export function via(address: string, proxy: Proxy): string {
  const url = new URL(address);
  url.host = proxy.address;
  return url.href.replace(/\/$/, '');
}

/** `target`: `host:port`. */
export async function startProxy(target: string, options: ProxyOptions = {}): Promise<Proxy> {
  const proxy = new Proxy(target, { ...options, port: options.port ?? (await freePort()) });
  await proxy.listen();
  return proxy;
}
