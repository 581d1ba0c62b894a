import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel } from 'kafkajs';
import { waitForTopics } from '../support/wait-for-topics.ts';
import type { AbsenceChange } from '../types/absence-changes.d.ts';

const TOPIC = 'rollcall.north.absence-changes';
const registry = new SchemaRegistry({
  host: process.env['ROLLCALL_REGISTRY_URL'] ?? 'http://localhost:8081',
});
const brokers = (process.env['ROLLCALL_KAFKA_BROKERS'] ?? 'localhost:9092').split(',');
const kafka = new Kafka({ brokers, logLevel: logLevel.ERROR });
// kafkajs reads committed records only, unless configured otherwise
const consumer = kafka.consumer({ groupId: 'example', allowAutoTopicCreation: false });
await waitForTopics(brokers, [TOPIC]);
await consumer.connect();
await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
console.error(`Listening to ${TOPIC}; changes appear here as they happen.`);
await consumer.run({
  eachMessage: async ({ message: { key, value } }) => {
    if (value === null) return; // the absence is forgotten: this is not an event
    const change = (await registry.decode(value)) as AbsenceChange;
    if (change.snapshot) return; // this is not news: the hub already had it when Rollcall first read the absences
    // A program that acts on changes also skips those with a `detectedAt` before its own first start, as react-once does.
    const { operation, step, version } = change;
    console.log(operation, String(key), `step ${step}`, time(version.fromTime), '–', time(version.toTime));
  },
});

/** Times are milliseconds since the epoch. */
function time(ms: number | null | undefined): string {
  return ms == null ? 'open' : new Date(ms).toISOString();
}
