import {
  Kafka,
  logLevel,
  type KafkaConfig as KafkaClientOptions,
  type LogEntry,
  type SASLOptions,
} from 'kafkajs';
import type { Logger } from 'pino';
import { passEmptiedBatches } from './kafkajs-empty-batches.ts';
import { letIdleConnectionsSleep } from './kafkajs-idle.ts';
import { dropSilentConnections } from './kafkajs-silent-connections.ts';

export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl: KafkaClientOptions['ssl'];
  readonly sasl: SASLOptions | undefined;
}

/**
 * A kafkajs client whose retries settle in bounded time.
 *
 * The short first retry is for CONCURRENT_TRANSACTIONS, which every commit meets while the markers of the one
 * before are still being written: at the default of 300 ms, throughput falls to a quarter. Twelve retries end
 * within about nine seconds of waiting.
 */
export function createKafkaClient(connection: KafkaConnection, logger: Logger): Kafka {
  letIdleConnectionsSleep();
  passEmptiedBatches();
  dropSilentConnections();
  return new Kafka({
    clientId: connection.clientId,
    brokers: [...connection.brokers],
    ...(connection.ssl === undefined ? {} : { ssl: connection.ssl }),
    ...(connection.sasl === undefined ? {} : { sasl: connection.sasl }),
    connectionTimeout: 5_000,
    authenticationTimeout: 10_000,
    requestTimeout: 15_000,
    enforceRequestTimeout: true,
    retry: { initialRetryTime: 5, maxRetryTime: 2_000, retries: 12 },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => logQuietly(entry, logger),
  });
}

/** kafkajs logs at error level what it retries itself; what finally fails is thrown and told once, by us. */
function logQuietly(entry: LogEntry, logger: Logger): void {
  const { message, broker, topic, partition, groupId, retryCount } = entry.log;
  logger.debug({ namespace: entry.namespace, broker, topic, partition, groupId, retryCount }, message);
}
