import type { ConnectionOptions } from 'node:tls';
import { Kafka, logLevel, type Mechanism, type SASLOptions } from 'kafkajs';
import { brokersOf, request } from './wire/kafka-broker.ts';
import { kafkaError } from './kafka-errors.ts';
import { KafkaConnections } from './wire/kafka-connections.ts';
import { patchKafkaJs } from './wire/kafkajs-patches.ts';

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

/** The connections of this process, by a kafkajs client that itself repeats and logs nothing. Nothing is connected yet. */
export function createKafkaConnections(connection: KafkaConnection): KafkaConnections {
  patchKafkaJs();
  const kafka = new Kafka({
    clientId: connection.clientId,
    brokers: [...connection.brokers],
    ssl: connection.tls,
    ...(connection.sasl === undefined ? {} : { sasl: connection.sasl }),
    connectionTimeout: 5_000,
    authenticationTimeout: 10_000,
    // A `BrokerConnection` has its own time limit for requests.
    enforceRequestTimeout: false,
    logLevel: logLevel.NOTHING,
  });
  const answerWithinMs = Math.max(15_000, connection.sessionMs + 5_000);
  return new KafkaConnections(brokersOf(kafka), connection.brokers, answerWithinMs);
}

/** Throws KAFKA_UNREACHABLE when no broker answers, KAFKA_REFUSED when it refuses the login. */
export async function pingKafka(kafka: KafkaConnections): Promise<void> {
  await kafka.askAny(request('ApiVersions', {})).catch((error: unknown) => {
    throw kafkaError(error, 'connecting');
  });
}
