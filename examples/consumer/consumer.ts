import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel } from 'kafkajs';
import { waitForTopics } from '../support/wait-for-topics.ts';
import type { AbsenceChange } from '../types/absence-changes.d.ts';

const TOPIC = `${process.env['ROLLCALL_TOPICS'] ?? 'rollcall.north'}.absence-changes`;
const GROUP = { groupId: 'example' };
const registry = new SchemaRegistry({
  host: process.env['ROLLCALL_REGISTRY_URL'] ?? 'http://localhost:8081',
});
const brokers = (process.env['ROLLCALL_KAFKA_BROKERS'] ?? 'localhost:9092').split(',');
const kafka = new Kafka({ brokers, logLevel: logLevel.ERROR });
// kafkajs reads committed records only, unless configured otherwise
const consumer = kafka.consumer({ ...GROUP, allowAutoTopicCreation: false });
const admin = kafka.admin();
await waitForTopics(brokers, [TOPIC]);
await admin.connect();
const [stored] = await admin.fetchOffsets({ ...GROUP, topics: [TOPIC] });
// At its first start the group has no positions. What the topic already has is not news, so the group begins at its end.
if (stored?.partitions.every(({ offset }) => offset === '-1'))
  await admin.setOffsets({ ...GROUP, topic: TOPIC, partitions: await admin.fetchTopicOffsets(TOPIC) });
await admin.disconnect();
await consumer.connect();
await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
console.error(`Listening to ${TOPIC}; changes appear here as they happen.`);
await consumer.run({
  eachMessage: async ({ message: { key, value } }) => {
    if (value === null) return; // the absence is forgotten: this is not an event
    const change = (await registry.decode(value)) as AbsenceChange;
    if (change.snapshot) return; // this is not news: the hub already had it when Rollcall first read the absences
    const { operation, step, version } = change;
    console.log(operation, String(key), `step ${step}`, time(version.fromTime), '–', time(version.toTime));
  },
});

/** Times are milliseconds since the epoch. */
function time(ms: number | null | undefined): string {
  return ms == null ? 'open' : new Date(ms).toISOString();
}
