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

/** API keys of requests (Kafka protocol guide, "Protocol API Keys"). */
export const KAFKA_API = { produce: 0, initProducerId: 22, endTxn: 26 } as const;

export type KafkaApi = keyof typeof KAFKA_API;

/** `sent`: the request has not reached the broker yet. `answered`: the broker has acted on it, and the client does not know. */
export const WHENS = ['sent', 'answered'] as const;

interface Waiting {
  readonly apiKey: number;
  readonly when: (typeof WHENS)[number];
  readonly act: () => Promise<void>;
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

/** A proxy for TCP connections that makes the troubles of networks, and that can act amid the requests of Kafka's clients. */
export class Proxy implements AsyncDisposable {
  /** `127.0.0.1:port` */
  readonly address: string;
  readonly #target: URL;
  readonly #speaksKafka: boolean;
  readonly #connections = new Set<Connection>();
  readonly #waiting = new Set<Waiting>();
  readonly #rewrites = new Map<number, (request: Buffer) => void>();
  readonly #server = createServer(HALVES, (client) => this.#accept(client));
  #held = 0;
  #isCut = false;
  #latencyMs = 0;
  #stalled: PromiseWithResolvers<void> | null = null;

  constructor(target: string, { port, speaksKafka }: { port: number; speaksKafka: boolean }) {
    this.#target = new URL(`tcp://${target}`);
    this.#speaksKafka = speaksKafka;
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

  begin(trouble: Trouble, latencyMs = SLOW_MS): void {
    if (trouble === 'cut') this.#isCut = true;
    if (trouble === 'stall') this.#stalled ??= Promise.withResolvers();
    if (trouble === 'slow') this.#latencyMs = latencyMs;
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

  /** Runs `act` once, at the next such request to Kafka, which goes on only after it has ended. Resolves then. */
  at(api: KafkaApi, when: Waiting['when'], act: () => unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const acted = async (): Promise<void> => void (await act());
      this.#waiting.add({ apiKey: KAFKA_API[api], when, act: () => acted().then(resolve, reject) });
    });
  }

  /** Changes each such request before it reaches Kafka; the frame must keep its length. */
  rewrite(api: KafkaApi, change: (request: Buffer) => void): void {
    this.#rewrites.set(KAFKA_API[api], change);
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
    const answered = new Map<number, Waiting>();
    const isAnswered = async (frame: Buffer): Promise<void> => {
      const id = frame.readInt32BE(LENGTH_BYTES);
      const met = answered.get(id);
      answered.delete(id);
      await met?.act();
    };
    const isSent = (frame: Buffer): Promise<void> => this.#send(frame, answered);
    void this.#relay(connection, { from: client, to: upstream, see: isSent });
    void this.#relay(connection, { from: upstream, to: client, see: isAnswered });
    // Forgotten connections stay open, whatever their ends do, until they are broken.
    const closed = [client, upstream].map(
      (socket) => new Promise((resolve) => socket.once('close', resolve)),
    );
    void Promise.all(closed).then(() => this.#connections.delete(connection));
  }

  /** A request begins with its length, its API key, a version and its correlation id. */
  async #send(frame: Buffer, answered: Map<number, Waiting>): Promise<void> {
    const apiKey = frame.readInt16BE(LENGTH_BYTES);
    this.#rewrites.get(apiKey)?.(frame);
    const met = [...this.#waiting].find((each) => each.apiKey === apiKey);
    if (met === undefined) return;
    this.#waiting.delete(met);
    if (met.when === 'sent') await met.act();
    else answered.set(frame.readInt32BE(LENGTH_BYTES + 4), met);
  }

  /** Never rejects. */
  async #relay(
    connection: Connection,
    { from, to, see }: { from: Socket; to: Socket; see: (frame: Buffer) => Promise<void> },
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
        for (let end = this.#unitIn(rest); end <= rest.length && end > 0; end = this.#unitIn(rest)) {
          const unit = rest.subarray(0, end);
          rest = rest.subarray(end);
          if (this.#speaksKafka) await see(unit);
          if (!connection.isForgotten && to.writable) to.write(unit);
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

  /** How many bytes are passed on at once: a request or an answer of Kafka, or all. */
  #unitIn(bytes: Buffer): number {
    if (!this.#speaksKafka) return bytes.length;
    return bytes.length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + bytes.readInt32BE();
  }
}

/** `target`: `host:port`; `speaksKafka`: `at` and `rewrite` work. */
export async function startProxy(
  target: string,
  { port, speaksKafka = false }: { port?: number; speaksKafka?: boolean } = {},
): Promise<Proxy> {
  const proxy = new Proxy(target, { port: port ?? (await freePort()), speaksKafka });
  await proxy.listen();
  return proxy;
}
