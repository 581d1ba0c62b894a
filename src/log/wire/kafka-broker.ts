import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { logLevel, type Mechanism, type SASLOptions } from 'kafkajs';

const require = createRequire(import.meta.url);
const { requests } = require('kafkajs/src/protocol/requests') as { requests: Record<string, object> };
const apiKeys = require('kafkajs/src/protocol/requests/apiKeys') as Readonly<Record<string, number>>;
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error & { readonly type: string };
};
const Broker = require('kafkajs/src/broker') as new (options: object) => KafkaBroker;
const ConnectionPool = require('kafkajs/src/network/connectionPool') as new (options: object) => object;
const createSocketFactory = require('kafkajs/src/network/socketFactory') as () => unknown;
const { createLogger } = require('kafkajs/src/loggers') as { createLogger: (options: object) => unknown };

const PRODUCER_FENCED = 90;

/** The parts of kafkajs' broker that Rollcall uses. */
export interface KafkaBroker {
  /** The two connections of a broker. Rollcall uses only the first. */
  readonly connectionPool: { readonly pool: readonly [KafkaSocket, ...unknown[]] };
  /**
   * Chooses the newest version of a request that both the broker and kafkajs know. It can be called only after
   * `connect`.
   */
  readonly lookupRequest: (apiKey: number, definition: object) => (options: object) => KafkaRequest;
  /** Whether the connection is open and logged in, and its session does not end soon. */
  isConnected(): boolean;
  /** Opens the connection and logs in. */
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

export interface KafkaSocket {
  readonly socket?: Socket;
  /** ms; 0: the broker ends no session. */
  readonly sessionLifetime: { toNumber(): number };
  /** How long before the end of the session the broker no longer counts as connected, ms. */
  reauthenticationThreshold: number;
  /** If the broker refuses the request, rejects with an error whose `type` Kafka's protocol defines. */
  send(request: KafkaRequest): Promise<unknown>;
  /** Rejects the requests that were sent and have no answer. */
  rejectRequests(error: Error): void;
}

/** A request as kafkajs sends it. `decode` reads an answer, and `parse` throws the first error in it. */
export interface KafkaRequest {
  readonly request: { readonly encode: () => Promise<unknown> };
  readonly response: {
    readonly decode: (bytes: Buffer) => Promise<unknown>;
    readonly parse: (answer: unknown) => Promise<unknown>;
  };
}

/** Makes a request for a broker that is connected. */
export type RequestFor = (broker: Pick<KafkaBroker, 'lookupRequest'>) => KafkaRequest;

/** A request, by the name that kafkajs has for it, which rejects with the first error in its answer. */
export function request(name: string, options: object): RequestFor {
  const definition = requests[name];
  const apiKey = apiKeys[name];
  if (definition === undefined || apiKey === undefined) throw new Error(`kafkajs knows no ${name}`);
  return (broker) => broker.lookupRequest(apiKey, definition)(options);
}

/** A request that resolves with the whole answer, including all errors in it. */
export function wholeRequest(name: string, options: object): RequestFor {
  const requestFor = request(name, options);
  return (broker) => {
    const { request, response } = requestFor(broker);
    return { request, response: { decode: response.decode, parse: (answer) => Promise.resolve(answer) } };
  };
}

/** The type of an error of Kafka's protocol; null: no error. */
export function typeOf(errorCode: number): string | null {
  if (errorCode === 0) return null;
  // kafkajs' table of error codes ends at 88.
  return errorCode === PRODUCER_FENCED ? 'PRODUCER_FENCED' : createErrorFromCode(errorCode).type;
}

/** Makes a broker at an address (`host:port`) that is not connected yet. */
export type BrokerAt = (address: string) => KafkaBroker;

export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** kafkajs copies its properties for each connection: with getters, replaced certificates take effect. */
  readonly tls: boolean | ConnectionOptions;
  /** kafkajs keeps this very object, and reads the password at each authentication: a getter lets a rotated one take effect. */
  readonly sasl: SASLOptions | Mechanism | undefined;
  /** For this long, a member of a group may wait for the leader of the group (worker-group.ts). */
  readonly sessionMs: number;
}

/** Brokers that repeat and log nothing by themselves. */
export function brokersWith({ clientId, tls, sasl }: KafkaConnection): BrokerAt {
  const logger = createLogger({ level: logLevel.NOTHING, logCreator: () => () => undefined });
  return (address) => {
    const colon = address.lastIndexOf(':');
    const connectionPool = new ConnectionPool({
      clientId,
      ssl: tls,
      sasl,
      host: address.slice(0, colon),
      port: Number(address.slice(colon + 1)),
      connectionTimeout: 5_000,
      // A `BrokerConnection` has its own time limit for requests.
      enforceRequestTimeout: false,
      socketFactory: createSocketFactory(),
      logger,
    });
    return new Broker({ connectionPool, logger, authenticationTimeout: 10_000 });
  };
}
