import type { Admin } from 'kafkajs';
import { pino } from 'pino';
import { inject } from 'vitest';
import { createKafkaClient } from '../../../../src/log/kafka-client.ts';

/** A connected admin client of the test's own. */
export async function connectAdmin(): Promise<Admin> {
  const brokers = inject('stack').kafkaBrokers;
  const connection = { brokers, clientId: 'test', tls: false, sasl: undefined, sessionMs: 10_000 };
  const admin = createKafkaClient(connection, pino({ level: 'silent' })).admin();
  await admin.connect();
  return admin;
}
