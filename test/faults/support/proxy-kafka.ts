import { startProxy, type Proxy, type ProxyTap } from './proxy.ts';

/** API keys of requests (Kafka protocol guide, "Protocol API Keys"). */
export const KAFKA_API = { produce: 0, initProducerId: 22, endTxn: 26 } as const;

export interface KafkaMoment {
  /** One of `KAFKA_API`. */
  readonly apiKey: number;
  /** `sent`: the request has not reached the broker yet. `answered`: the broker has acted on it, and the client has no answer yet. */
  readonly when: 'sent' | 'answered';
  /** Whether this is the wanted request; gets the frame without its length. Default: the first request. */
  readonly isMeant?: ((request: Buffer) => boolean) | undefined;
}

export interface KafkaProxy extends Proxy {
  /**
   * Runs `act` once, at the next such moment: the bytes are forwarded only after it has ended. Resolves then.
   */
  at(moment: KafkaMoment, act: () => void | Promise<void>): Promise<void>;
  /** Changes each request of that API key before it reaches the broker; the frame must keep its length. */
  rewrite(apiKey: number, change: (request: Buffer) => void): void;
}

interface Waiting {
  readonly moment: KafkaMoment;
  readonly act: () => Promise<void>;
}

/** A proxy before a broker that knows the frames of the Kafka protocol, so that it can act during a send or a commit. */
export async function startKafkaProxy(options: { target: string; port: number }): Promise<KafkaProxy> {
  const waiting = new Set<Waiting>();
  const rewrites = new Map<number, (request: Buffer) => void>();
  const proxy = await startProxy({ ...options, tap: () => new KafkaTap(waiting, rewrites) });
  return Object.assign(proxy, {
    at(moment: KafkaMoment, act: () => void | Promise<void>): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.add({
        moment,
        act: async () => {
          try {
            await act();
            resolve();
          } catch (error) {
            reject(error);
          }
        },
      });
      return promise;
    },
    rewrite(apiKey: number, change: (request: Buffer) => void): void {
      rewrites.set(apiKey, change);
    },
  });
}

const LENGTH_BYTES = 4;

class KafkaTap implements ProxyTap {
  readonly #waiting: Set<Waiting>;
  readonly #rewrites: ReadonlyMap<number, (request: Buffer) => void>;
  readonly #sent = new FrameCutter();
  readonly #answered = new FrameCutter();
  /** The action at the answer with this correlation id. */
  readonly #awaited = new Map<number, Waiting>();

  constructor(waiting: Set<Waiting>, rewrites: ReadonlyMap<number, (request: Buffer) => void>) {
    this.#waiting = waiting;
    this.#rewrites = rewrites;
  }

  async up(chunk: Buffer): Promise<Buffer> {
    const frames = this.#sent.frames(chunk);
    for (const frame of frames) {
      const request = frame.subarray(LENGTH_BYTES);
      const apiKey = request.readInt16BE(0);
      this.#rewrites.get(apiKey)?.(request);
      const met = this.#take(apiKey, request);
      if (met?.moment.when === 'sent') await met.act();
      else if (met !== undefined) this.#awaited.set(request.readInt32BE(4), met);
    }
    return Buffer.concat(frames);
  }

  async down(chunk: Buffer): Promise<Buffer> {
    const frames = this.#answered.frames(chunk);
    for (const frame of frames) {
      const correlationId = frame.readInt32BE(LENGTH_BYTES);
      const met = this.#awaited.get(correlationId);
      this.#awaited.delete(correlationId);
      await met?.act();
    }
    return Buffer.concat(frames);
  }

  #take(apiKey: number, request: Buffer): Waiting | undefined {
    for (const each of this.#waiting) {
      const { moment } = each;
      if (moment.apiKey !== apiKey || moment.isMeant?.(request) === false) continue;
      this.#waiting.delete(each);
      return each;
    }
    return undefined;
  }
}

/** Requests and answers are preceded by their length in four bytes. */
class FrameCutter {
  #rest: Buffer = Buffer.alloc(0);

  frames(chunk: Buffer): Buffer[] {
    const bytes = Buffer.concat([this.#rest, chunk]);
    const found: Buffer[] = [];
    let at = 0;
    while (at + LENGTH_BYTES <= bytes.length) {
      const end = at + LENGTH_BYTES + bytes.readInt32BE(at);
      if (end > bytes.length) break;
      found.push(bytes.subarray(at, end));
      at = end;
    }
    this.#rest = bytes.subarray(at);
    return found;
  }
}
