import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { expect, inject, vi } from 'vitest';
import type { Message, Producer } from 'kafkajs';
import { sendEncodedBatches } from '../../../src/log/kafkajs-encoded-batches.ts';
import { topicSettings } from '../../../src/log/topic-settings.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import { createTopic, deleteTopicsOf, plainKafka, withAdmin } from './kafka-admin.ts';
import { flushRedis } from './redis-copy.ts';

/** Suffix, partition, offset, timestamp (ms), key, framed value as Base64, headers. */
type RecordedMessage = [
  TopicSuffix,
  number,
  number,
  number,
  string,
  string | null,
  Readonly<Record<string, string>>,
];

/** The topics of an installation, and what its Redis held, as an earlier version left them. */
interface Recording {
  /** By `<topic>/<partition>`: the next offset. */
  readonly ends: Readonly<Record<string, number>>;
  /** By the registry's id at the time. */
  readonly schemas: Readonly<Record<string, { topic: string; schema: string }>>;
  /** By key: the fields and values of a hash, as Base64. */
  readonly redis: Readonly<Record<string, readonly (readonly [string, string])[]>>;
  readonly records: readonly RecordedMessage[];
}

const FRAME_BYTES = 5;
const WITHIN_MS = 10_000;

/** Makes an installation as it was recorded: the same records at the same offsets, and the same Redis. */
export async function playRecording(file: URL, topicPrefix: string): Promise<void> {
  const recording = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Recording;
  // The producers of the recording send first in this process; it must come before that.
  sendEncodedBatches();
  await deleteTopicsOf(topicPrefix);
  await flushRedis(topicPrefix);
  const ids = await registerSchemas(recording, topicPrefix);
  const names = Object.keys(recording.ends);
  for (const [topic, partitions] of Map.groupBy(names, (name) => name.slice(0, name.lastIndexOf('/')))) {
    const suffix = topic.slice(topic.lastIndexOf('.') + 1) as TopicSuffix;
    const configEntries = topicSettings(suffix).map(({ name, value }) => ({ name, value }));
    await createTopic({ topic, numPartitions: partitions.length, configEntries });
  }
  for (const name of names) await writePartition({ recording, name, ids });
  const redis = new Redis(inject('stack').redisUrl);
  for (const [key, fields] of Object.entries(recording.redis)) {
    for (const [field, value] of fields)
      await redis.hset(key, Buffer.from(field, 'base64'), Buffer.from(value, 'base64'));
  }
  await redis.quit();
}

async function registerSchemas(
  { schemas }: Recording,
  topicPrefix: string,
): Promise<ReadonlyMap<number, number>> {
  const ids = new Map<number, number>();
  for (const [id, { topic, schema }] of Object.entries(schemas)) {
    const subject = `${topicPrefix}.north.${topic}-value`;
    await ask('PUT', `config/${subject}`, { compatibility: 'FULL_TRANSITIVE' });
    ids.set(Number(id), (await ask('POST', `subjects/${subject}/versions`, { schema })).id);
  }
  return ids;
}

async function ask(method: string, path: string, body: object): Promise<{ id: number }> {
  const answer = await fetch(`${inject('stack').registryUrl}/${path}`, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { id: number };
}

/** One gap in the offsets is the marker of a commit; the two at the beginning were an aborted end marker. */
async function writePartition(parts: {
  recording: Recording;
  name: string;
  ids: ReadonlyMap<number, number>;
}): Promise<void> {
  const { recording, name, ids } = parts;
  const slash = name.lastIndexOf('/');
  const topic = name.slice(0, slash);
  const partition = Number(name.slice(slash + 1));
  const records = recording.records
    .filter(([suffix, number]) => topic.endsWith(`.${suffix}`) && number === partition)
    .sort(([, , one], [, , other]) => one - other);
  const producer = plainKafka().producer({ idempotent: true, maxInFlightRequests: 1, transactionalId: name });
  await producer.connect();
  try {
    await send(producer, topic, [{ partition, key: 'end', value: 'aborted' }], 'abort');
    let waiting: Message[] = [];
    let next = 2;
    for (const record of records) {
      if (record[2] > next) {
        await send(producer, topic, waiting, 'commit');
        waiting = [];
        next += 1;
      }
      expect(record[2]).toBe(next);
      next += 1;
      waiting.push(messageOf(record, ids));
    }
    if (waiting.length > 0) await send(producer, topic, waiting, 'commit');
  } finally {
    await producer.disconnect();
  }
  // The last marker may come later than the answer to its commit.
  await withAdmin((admin) =>
    vi.waitFor(async () => {
      const ends = await admin.fetchTopicOffsets(topic);
      expect(ends.find((each) => each.partition === partition)?.high).toBe(String(recording.ends[name]));
    }, WITHIN_MS),
  );
}

async function send(
  producer: Producer,
  topic: string,
  messages: Message[],
  end: 'commit' | 'abort',
): Promise<void> {
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages });
  await transaction[end]();
}

function messageOf(record: RecordedMessage, ids: ReadonlyMap<number, number>): Message {
  const [, partition, , timestampMs, key, encoded, headers] = record;
  const value = encoded === null ? null : Buffer.from(encoded, 'base64');
  value?.writeInt32BE(ids.get(value.readInt32BE(1)) ?? 0, 1);
  expect(value?.length ?? FRAME_BYTES).toBeGreaterThanOrEqual(FRAME_BYTES);
  return { partition, key, value, headers: { ...headers }, timestamp: String(timestampMs) };
}
