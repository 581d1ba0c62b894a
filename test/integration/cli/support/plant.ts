import { Partitioners } from 'kafkajs';
import { expect, inject } from 'vitest';
import { headerTexts, readMessagesAt, type EndOffsets } from '../../support/read-topics.ts';
import { plainKafka } from '../../support/stack-kafka.ts';

export interface Planted {
  readonly key: string;
  /** Null: a tombstone. */
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Writes records like a program that has no business in the topic. */
export async function plant(topic: string, records: readonly Planted[]): Promise<void> {
  const producer = plainKafka().producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  try {
    await producer.send({
      topic,
      messages: records.map(({ headers = {}, ...each }) => ({ ...each, headers })),
    });
  } finally {
    await producer.disconnect();
  }
}

/** Records as they stand in a topic, not decoded, because some cannot be. */
export async function rawRecords(topic: string, from: EndOffsets = {}): Promise<Required<Planted>[]> {
  const messages = await readMessagesAt(inject('stack'), [topic], { from });
  return messages.map(({ message: { key, value, headers } }) => ({
    key: String(key),
    value,
    headers: headerTexts(headers),
  }));
}

/** The last record of a key. */
export async function rawRecord(topic: string, key: string): Promise<Required<Planted>> {
  const found = (await rawRecords(topic)).findLast((record) => record.key === key);
  if (found === undefined) throw new Error(`${topic} has no record of ${key}`);
  return found;
}

/** Writes to a registry as another program does. */
export async function tellRegistry(url: string, method: 'POST' | 'PUT', body: object): Promise<void> {
  const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
}

/** A schema of another program. */
export function otherSchema(name = 'Other'): { schema: string } {
  return { schema: JSON.stringify({ type: 'record', name, fields: [{ name: 'n', type: 'int' }] }) };
}
