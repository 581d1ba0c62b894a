import { expect, it } from 'vitest';
import kafkajs from 'kafkajs';
import { kafkaError } from '../../../src/log/kafka-errors.ts';

it.each([
  [
    'INVALID_REPLICATION_FACTOR',
    'Kafka has fewer brokers than kafka.replicationFactor',
    'kafka.replicationFactor',
  ],
  ['TOPIC_AUTHORIZATION_FAILED', 'TOPIC_AUTHORIZATION_FAILED', ''],
])('topics of which a broker creates none name what is missing: %s', (type, message, remedy) => {
  const each = ['p.north.orgs', 'p.north.users'].map((topic) =>
    Object.assign(new kafkajs.KafkaJSProtocolError(new Error('refused')), { type, topic }),
  );
  const doing = 'creating topics (p.north.orgs)';
  const error = kafkaError(new kafkajs.KafkaJSAggregateError('Topic creation errors', each), doing);
  expect(error.code).toBe('KAFKA_REFUSED');
  for (const part of [message, doing]) expect(error.message).toContain(part);
  expect(error.remedy).toContain(remedy);
});
