import { brokersWith, request, type KafkaConnection } from './wire/kafka-broker.ts';
import { kafkaError } from './kafka-errors.ts';
import { KafkaConnections } from './wire/kafka-connections.ts';
import { patchKafkaJs } from './wire/kafkajs-patches.ts';

/** The connections of this process. Nothing is connected yet. */
export function createKafkaConnections(connection: KafkaConnection): KafkaConnections {
  patchKafkaJs();
  const answerWithinMs = Math.max(15_000, connection.sessionMs + 5_000);
  return new KafkaConnections(brokersWith(connection), connection.brokers, answerWithinMs);
}

/** Throws KAFKA_UNREACHABLE when no broker answers, KAFKA_REFUSED when it refuses the login. */
export async function pingKafka(kafka: KafkaConnections): Promise<void> {
  await kafka.askAny(request('ApiVersions', {})).catch((error: unknown) => {
    throw kafkaError(error, 'connecting');
  });
}
