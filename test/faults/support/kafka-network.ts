import { startProxy, type FrameWatch, type Proxy, type Trouble } from './proxy.ts';

/** API keys of requests (Kafka protocol guide, "Protocol API Keys"). */
const API = { produce: 0, initProducerId: 22, addPartitionsToTxn: 24, endTxn: 26 } as const;

export type KafkaApi = keyof typeof API;

/** `sent`: the request has not reached its broker yet. `answered`: the broker has acted on it, and the client does not know. */
export const WHENS = ['sent', 'answered'] as const;

type When = (typeof WHENS)[number];

interface Waiting {
  readonly apiKey: number;
  readonly when: When;
  readonly act: (broker: number) => Promise<void>;
}

/** A request begins with its length, its API key, a version and its correlation id; an answer with its length and that id. */
const API_KEY_AT = 4;
const ID_AT_IN_REQUEST = 8;
const ID_AT_IN_ANSWER = 4;

/** The network before a cluster: a proxy for each broker, which all connections of its clients pass. */
export class KafkaNetwork implements AsyncDisposable {
  /** In the order of the brokers. */
  readonly proxies: Proxy[] = [];
  readonly #waiting = new Set<Waiting>();
  readonly #rewrites = new Map<number, (request: Buffer) => void>();

  /** `target`: the listener of the next broker that advertises that port. */
  async add(target: string, port: number): Promise<void> {
    const broker = this.proxies.length;
    this.proxies.push(await startProxy(target, { port, watch: () => this.#watch(broker) }));
  }

  /** The number of chunks that wait because the network is stalled or slow. */
  get held(): number {
    return this.proxies.reduce((sum, { held }) => sum + held, 0);
  }

  begin(trouble: Trouble): void {
    for (const proxy of this.proxies) proxy.begin(trouble);
  }

  mend(): void {
    for (const proxy of this.proxies) proxy.mend();
  }

  /**
   * Runs `act` once, at the next such request to any broker, which goes on only after it has ended. Resolves then, with the
   * place of that broker.
   */
  at(api: KafkaApi, when: When, act: (broker: number) => unknown): Promise<number> {
    return new Promise((resolve, reject) => {
      const acted = async (broker: number): Promise<number> => {
        await act(broker);
        return broker;
      };
      this.#waiting.add({ apiKey: API[api], when, act: (broker) => acted(broker).then(resolve, reject) });
    });
  }

  /** Changes each such request before it reaches its broker; the frame must keep its length. */
  rewrite(api: KafkaApi, change: (request: Buffer) => void): void {
    this.#rewrites.set(API[api], change);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
  }

  #watch(broker: number): FrameWatch {
    const unanswered = new Map<number, Waiting>();
    return {
      sent: async (request) => {
        const apiKey = request.readInt16BE(API_KEY_AT);
        this.#rewrites.get(apiKey)?.(request);
        const met = [...this.#waiting].find((each) => each.apiKey === apiKey);
        if (met === undefined) return;
        this.#waiting.delete(met);
        if (met.when === 'sent') await met.act(broker);
        else unanswered.set(request.readInt32BE(ID_AT_IN_REQUEST), met);
      },
      answered: async (answer) => {
        const id = answer.readInt32BE(ID_AT_IN_ANSWER);
        const met = unanswered.get(id);
        unanswered.delete(id);
        await met?.act(broker);
      },
    };
  }
}
