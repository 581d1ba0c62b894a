import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka } from 'kafkajs';

const registry = new SchemaRegistry({
  host: process.env['ROLLCALL_REGISTRY_URL'] ?? 'http://localhost:8081',
});
const kafka = new Kafka({ brokers: (process.env['ROLLCALL_KAFKA_BROKERS'] ?? 'localhost:9092').split(',') });
// kafkajs reads committed records only, unless configured otherwise
const consumer = kafka.consumer({ groupId: 'example', allowAutoTopicCreation: false });
await consumer.connect();
await consumer.subscribe({ topic: 'rollcall.north.absence-changes', fromBeginning: true });
await consumer.run({
  eachMessage: async ({ message: { key, value, headers } }) => {
    if (value === null) return; // the absence is forgotten: no event
    const change = (await registry.decode(value)) as { snapshot: boolean };
    if (change.snapshot) return; // was there when Rollcall first looked: no news
    console.log(String(headers?.['ce_type']), String(key), change);
  },
});
