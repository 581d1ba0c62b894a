import { randomUUID } from 'node:crypto';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel } from 'kafkajs';

/** A record, as any consumer receives it. */
export interface WatchedRecord {
  /** Last part of the topic's name. */
  readonly collection: string;
  readonly key: string;
  /** `created`, `updated` or `deleted`: the end of `ce_type`; `forgotten` for the removal of an absence's events. */
  readonly kind: string;
  /** Decoded; null for a removal. */
  readonly value: unknown;
}

/**
 * Reads the committed records of a tenant's topics from the beginning and decodes them through the registry, like a
 * microservice that knows only the contract.
 */
export async function watchTopics(options: {
  brokers: string[];
  registryUrl: string;
  topics: readonly string[];
  onRecords: (records: readonly WatchedRecord[]) => void;
}): Promise<AsyncDisposable> {
  const kafka = new Kafka({ clientId: 'demo', brokers: options.brokers, logLevel: logLevel.NOTHING });
  const registry = new SchemaRegistry({ host: options.registryUrl });
  const consumer = kafka.consumer({ groupId: `demo-${randomUUID()}`, maxWaitTimeInMs: 200 });
  await consumer.connect();
  await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async (payload) => {
      const { batch } = payload;
      const records: WatchedRecord[] = [];
      for (const { key, value, headers } of batch.messages) {
        const collection = batch.topic.slice(batch.topic.lastIndexOf('.') + 1);
        const type = String(headers?.['ce_type'] ?? '');
        const isForgotten = collection === 'absence-changes' && value === null;
        records.push({
          collection,
          key: key?.toString() ?? '',
          kind: isForgotten ? 'forgotten' : type.slice(type.lastIndexOf('.') + 1),
          value: value === null ? null : await registry.decode(value),
        });
      }
      options.onRecords(records);
      await payload.heartbeat();
    },
  });
  return { [Symbol.asyncDispose]: () => consumer.disconnect() };
}
