import { describe, expect, it } from 'vitest';
import kafkajs from 'kafkajs';
import { kafkaError } from '../../../src/log/kafka-errors.ts';

/** Makes the error of kafkajs for a broker that creates none of several topics. */
function aggregate(type: string): Error {
  const each = ['p.north.orgs', 'p.north.users'].map((topic) =>
    Object.assign(new kafkajs.KafkaJSProtocolError(new Error('refused')), { type, topic }),
  );
  return new kafkajs.KafkaJSAggregateError('Topic creation errors', each);
}

describe('topics that cannot be created', () => {
  it('name kafka.replicationFactor where there are fewer brokers than replicas', () => {
    const error = kafkaError(aggregate('INVALID_REPLICATION_FACTOR'), 'creating topics (p.north.orgs)');
    expect(error).toMatchObject({
      code: 'KAFKA_REFUSED',
      message: 'Kafka has fewer brokers than kafka.replicationFactor: creating topics (p.north.orgs) failed',
      remedy: expect.stringContaining('kafka.replicationFactor') as string,
    });
  });

  it('name the right that is missing', () => {
    const error = kafkaError(aggregate('TOPIC_AUTHORIZATION_FAILED'), 'creating topics (p.north.orgs)');
    expect(error).toMatchObject({
      code: 'KAFKA_REFUSED',
      message: expect.stringContaining('TOPIC_AUTHORIZATION_FAILED') as string,
    });
  });
});
