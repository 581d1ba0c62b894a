import { expect, it } from 'vitest';
import kafkajs from 'kafkajs';
import { kafkaError } from '../../../src/log/kafka-errors.ts';

/** Makes the error of kafkajs for a broker that creates none of several topics. */
function aggregate(type: string): Error {
  const each = ['p.north.orgs', 'p.north.users'].map((topic) =>
    Object.assign(new kafkajs.KafkaJSProtocolError(new Error('refused')), { type, topic }),
  );
  return new kafkajs.KafkaJSAggregateError('Topic creation errors', each);
}

it.each([
  [
    'INVALID_REPLICATION_FACTOR',
    'Kafka has fewer brokers than kafka.replicationFactor: creating topics (p.north.orgs) failed',
    'kafka.replicationFactor',
  ],
  ['TOPIC_AUTHORIZATION_FAILED', 'TOPIC_AUTHORIZATION_FAILED', ''],
])('topics that cannot be created name what is missing: %s', (type, message, remedy) => {
  const doing = 'creating topics (p.north.orgs)';
  const error = kafkaError(aggregate(type), doing);
  expect(error.code).toBe('KAFKA_REFUSED');
  expect(error.message).toContain(message);
  expect(error.message).toContain(doing);
  expect(error.remedy).toContain(remedy);
});
