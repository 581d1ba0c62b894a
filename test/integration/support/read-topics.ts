import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Kafka, logLevel, type KafkaMessage } from 'kafkajs';
import type { TopicRecord } from '../../oracle/rows.ts';
import { readEnds, type EndOffsets } from './read-ends.ts';

export type { EndOffsets } from './read-ends.ts';
export { compactedView, type TopicRecord } from '../../oracle/rows.ts';

/** Where the topics and their schemas are. */
export interface Servers {
  readonly kafkaBrokers: string[];
  /** Base of a Confluent-compatible API. */
  readonly registryUrl: string;
}

const DECODED_AT_ONCE = 5_000;
const STALLED_AFTER_MS = 120_000;
const OPEN_TRANSACTION_AFTER_MS = 5_000;
const RETRY_AFTER_MS = 100;
const LOAD_ATTEMPTS = 100;

function consumerKafka(servers: Servers): Kafka {
  return new Kafka({
    clientId: 'some-consumer',
    brokers: servers.kafkaBrokers,
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, retries: 10 },
  });
}

/**
 * Where the topics end now for a read_committed reader. Topics that do not exist are left out. A commit is answered before
 * its markers are written everywhere: this waits for them, unless a transaction stays open.
 */
export async function endOffsetsAt(servers: Servers, topics: readonly string[]): Promise<EndOffsets> {
  const giveUpAtMs = performance.now() + OPEN_TRANSACTION_AFTER_MS;
  for (;;) {
    const isOver = performance.now() > giveUpAtMs;
    try {
      const { committed, written } = await readEnds(servers.kafkaBrokers, topics);
      if (isOver || isDeepStrictEqual(committed, written)) return committed;
    } catch (error) {
      // The broker does not lead a topic yet that somebody has just created.
      if ((error as { retriable?: boolean }).retriable !== true || isOver) throw error;
      await delay(RETRY_AFTER_MS);
    }
  }
}

/** All committed records from the beginning to the present end, by topic, partition and offset. */
export async function readTopicsAt(
  servers: Servers,
  topics: readonly string[],
  options: ReadOptions = {},
): Promise<TopicRecord[]> {
  return decodeAll(servers, await readMessagesAt(servers, topics, options), options);
}

export interface ReadOptions {
  /** Default: the beginning. */
  readonly from?: EndOffsets;
  /** Whether records of aborted transactions are read, too. */
  readonly readUncommitted?: boolean;
  /** Called with how many records are read, and then with how many are decoded. */
  readonly onProgress?: (done: 'read' | 'decoded', records: number) => void;
}

/** Records as they stand in the topics, not decoded, up to the present end. */
export async function readMessagesAt(
  servers: Servers,
  topics: readonly string[],
  options: ReadOptions = {},
): Promise<ReadMessage[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readOnce(servers, topics, options);
    } catch (error) {
      // The coordinator still loads the first groups of the cluster.
      if ((error as { type?: string }).type !== 'GROUP_LOAD_IN_PROGRESS' || attempt === LOAD_ATTEMPTS)
        throw error;
      await delay(RETRY_AFTER_MS);
    }
  }
}

async function readOnce(
  servers: Servers,
  topics: readonly string[],
  { from = {}, readUncommitted = false, onProgress }: ReadOptions,
): Promise<ReadMessage[]> {
  const ends = await endOffsetsAt(servers, topics);
  const open = new Map(Object.entries(ends).filter(([, end]) => end > 0));
  if (open.size === 0) return [];
  const messages: ReadMessage[] = [];
  const kafka = consumerKafka(servers);
  const consumer = kafka.consumer({
    groupId: `some-consumer-${randomUUID()}`,
    readUncommitted,
    maxWaitTimeInMs: 50,
  });
  const ended = Promise.withResolvers<void>();
  const stalled = setTimeout(
    () => ended.reject(new Error(`no end was reached of ${[...open.keys()].join(', ')}`)),
    STALLED_AFTER_MS,
  );
  consumer.on(consumer.events.CRASH, ({ payload }) => ended.reject(payload.error));
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    stalled.refresh();
    const name = `${payload.topic}/${payload.partition}`;
    if (Number(payload.lastOffset) + 1 >= (open.get(name) ?? 0)) open.delete(name);
    if (open.size === 0) ended.resolve();
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...new Set([...open.keys()].map(topicOf))], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: ({ batch: { topic, partition, messages: batch } }) => {
        for (const message of batch) messages.push({ topic, partition, message });
        onProgress?.('read', messages.length);
        return Promise.resolve();
      },
    });
    await ended.promise;
  } finally {
    clearTimeout(stalled);
    await consumer.disconnect();
  }
  return messages.filter(({ topic, partition, message }) => {
    const name = `${topic}/${partition}`;
    const offset = Number(message.offset);
    return (from[name] ?? 0) <= offset && offset < (ends[name] ?? 0);
  });
}

function topicOf(partitionName: string): string {
  return partitionName.slice(0, partitionName.lastIndexOf('/'));
}

export interface ReadMessage {
  readonly topic: string;
  readonly partition: number;
  readonly message: KafkaMessage;
}

async function decodeAll(
  servers: Servers,
  messages: readonly ReadMessage[],
  { onProgress }: ReadOptions,
): Promise<TopicRecord[]> {
  const registry = new SchemaRegistry({ host: servers.registryUrl });
  // The schemas are loaded first; otherwise each record that waits for a schema would compile it for itself.
  const ids = new Set(
    messages.flatMap(({ message: { value } }) => (value === null ? [] : [value.readInt32BE(1)])),
  );
  await Promise.all([...ids].map((id) => registry.getSchema(id)));
  const records: TopicRecord[] = [];
  while (records.length < messages.length) {
    const some = messages.slice(records.length, records.length + DECODED_AT_ONCE);
    records.push(...(await Promise.all(some.map((each) => decode(registry, each)))));
    onProgress?.('decoded', records.length);
  }
  return records.toSorted(
    (a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition || a.offset - b.offset,
  );
}

async function decode(
  registry: SchemaRegistry,
  { topic, partition, message }: ReadMessage,
): Promise<TopicRecord> {
  const { key, value, offset, timestamp, headers } = message;
  return {
    topic,
    partition,
    offset: Number(offset),
    publishedAtMs: Number(timestamp),
    key: key?.toString('utf8') ?? '',
    value: value === null ? null : ((await registry.decode(value)) as TopicRecord['value']),
    headers: headerTexts(headers),
  };
}

export function headerTexts(headers: KafkaMessage['headers'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, content]) => [name, String(content)]));
}
