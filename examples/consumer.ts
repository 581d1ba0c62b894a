import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka } from 'kafkajs';

const registry = new SchemaRegistry({
  host: process.env['ROLLCALL_REGISTRY_URL'] ?? 'http://localhost:8081',
});
const kafka = new Kafka({ brokers: (process.env['ROLLCALL_KAFKA_BROKERS'] ?? 'localhost:9092').split(',') });
const consumer = kafka.consumer({ groupId: 'example' }); // kafkajs reads committed records only, unless told otherwise
await consumer.connect();
await consumer.subscribe({ topic: 'rollcall.north.absence-versions', fromBeginning: true });
await consumer.run({
  eachMessage: async ({ message: { key, value, headers } }) => {
    const row: unknown = value === null ? null : await registry.decode(value); // null: the row is gone
    console.log(String(headers?.['ce_type']), String(key), row);
  },
});
