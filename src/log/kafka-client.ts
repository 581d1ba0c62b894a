import type { ConnectionOptions } from 'node:tls';
import { Kafka, logLevel, type Admin, type LogEntry, type SASLOptions } from 'kafkajs';
import type { Logger } from 'pino';
import { kafkaError } from './kafka-errors.ts';
import { patchKafkaJs } from './kafkajs-patches.ts';

export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Called for each connection, so that replaced certificates take effect. */
  readonly tls: boolean | (() => ConnectionOptions);
  /** kafkajs keeps this very object, and reads the password at each authentication: a getter lets a rotated one take effect. */
  readonly sasl: SASLOptions | undefined;
  /** A member of a group may wait so long for the group's leader (worker-group.ts). */
  readonly sessionMs: number;
}

/**
 * Creates a kafkajs client whose retries end in bounded time.
 *
 * The short first retry is for CONCURRENT_TRANSACTIONS, the answer to every commit while the brokers still write the
 * markers of the previous one: with the default of 300 ms, throughput falls to a quarter. Twelve retries wait about
 * nine seconds in total; factor and multiplier are kafkajs' own, which it replaces by smaller ones under NODE_ENV=test.
 */
export function createKafkaClient(connection: KafkaConnection, logger: Logger): Kafka {
  patchKafkaJs();
  return new Kafka({
    clientId: connection.clientId,
    brokers: [...connection.brokers],
    ssl: sslOf(connection.tls),
    ...(connection.sasl === undefined ? {} : { sasl: connection.sasl }),
    connectionTimeout: 5_000,
    authenticationTimeout: 10_000,
    requestTimeout: Math.max(15_000, connection.sessionMs + 5_000),
    enforceRequestTimeout: true,
    retry: { initialRetryTime: 5, maxRetryTime: 2_000, factor: 0.2, multiplier: 2, retries: 12 },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => logQuietly(entry, logger),
  });
}

/** kafkajs copies the properties of this object for each connection, which calls the getters. */
function sslOf(tls: KafkaConnection['tls']): boolean | ConnectionOptions {
  if (typeof tls === 'boolean') return tls;
  const names = Object.keys(tls()) as (keyof ConnectionOptions)[];
  const properties = names.map((name) => [name, { enumerable: true, get: () => tls()[name] }] as const);
  return Object.defineProperties({}, Object.fromEntries(properties));
}

/** kafkajs logs failures that it retries itself at error level. Rollcall logs the final failure, once. */
function logQuietly(entry: LogEntry, logger: Logger): void {
  const { message, broker, topic, partition, groupId, retryCount } = entry.log;
  logger.debug({ namespace: entry.namespace, broker, topic, partition, groupId, retryCount }, message);
}

/** With a broker that accepts connections and says nothing, a question ends after some 40 s. */
const PING_RETRY = { initialRetryTime: 300, retries: 1 };

/** Asks the brokers, over a connection of its own, whether they answer. */
export class KafkaPing implements AsyncDisposable {
  readonly #kafka: Pick<Kafka, 'admin'>;
  #admin: Admin | null = null;

  constructor(kafka: Pick<Kafka, 'admin'>) {
    this.#kafka = kafka;
  }

  /** Throws KAFKA_UNREACHABLE when no broker answers, KAFKA_REFUSED when it refuses the question. */
  async ping(): Promise<void> {
    try {
      if (this.#admin === null) {
        const admin = this.#kafka.admin({ retry: PING_RETRY });
        await admin.connect();
        this.#admin = admin;
      }
      await this.#admin.describeCluster();
    } catch (error) {
      throw kafkaError(error, 'asking whether it answers');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin?.disconnect();
  }
}
