import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel, type Consumer, type ConsumerConfig } from 'kafkajs';
import { waitForTopics } from './wait-for-topics.ts';

/** How long a fetch waits for records, and so how long Ctrl-C may take. */
const MAX_WAIT_MS = 500;

/** A reader of Rollcall's topics. kafkajs reads committed records only, unless configured otherwise. */
export interface TopicConsumer {
  readonly kafka: Kafka;
  readonly registry: SchemaRegistry;
  /** Not connected yet. */
  readonly consumer: Consumer;
  /** Resolves on Ctrl-C and SIGTERM, and rejects when the consumer has failed for good; the program may settle it, too. */
  readonly ended: PromiseWithResolvers<void>;
}

/** Waits until the topics exist. Addresses come from ROLLCALL_KAFKA_BROKERS and ROLLCALL_REGISTRY_URL. */
export async function openConsumer(
  topics: readonly string[],
  settings: ConsumerConfig,
): Promise<TopicConsumer> {
  const registry = new SchemaRegistry({
    host: process.env['ROLLCALL_REGISTRY_URL'] ?? 'http://localhost:8081',
  });
  const brokers = (process.env['ROLLCALL_KAFKA_BROKERS'] ?? 'localhost:9092').split(',');
  await waitForTopics(brokers, topics);
  const kafka = new Kafka({ brokers, logLevel: logLevel.ERROR });
  const consumer = kafka.consumer({
    maxWaitTimeInMs: MAX_WAIT_MS,
    allowAutoTopicCreation: false,
    ...settings,
  });
  const ended = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.resolve());
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) ended.reject(payload.error);
  });
  return { kafka, registry, consumer, ended };
}
