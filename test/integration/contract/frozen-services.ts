import type { Message } from 'kafkajs';
import { inject } from 'vitest';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';
import { topicSettings } from '../../../src/log/topic-settings.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import { tellRegistry } from '../cli/support/plant.ts';
import { connect } from '../pipeline/redis-copy.ts';
import { headerTexts, readMessagesAt } from '../support/read-topics.ts';
import { createTopic, deleteTopicsOf, plainKafka, withAdmin } from '../support/stack-kafka.ts';

interface FrozenRecord {
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  /** Base64; null for a removal. */
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

interface FrozenTopic {
  readonly suffix: TopicSuffix;
  readonly records: readonly FrozenRecord[];
  /** With its id in the registry; null for the changelog, which has none. */
  readonly schema: { readonly id: number; readonly text: string } | null;
}

/** All that a tenant has in Kafka, registry and Redis. */
export interface FrozenTenant {
  readonly topicPrefix: string;
  /** Those that have records. */
  readonly topics: readonly FrozenTopic[];
  /** Fields and values of each hash; base64. */
  readonly redis: Readonly<Record<string, readonly string[]>>;
}

export async function freeze(topicPrefix: string): Promise<FrozenTenant> {
  const all = await withAdmin((admin) => admin.listTopics());
  const names = all.filter((name) => name.startsWith(`${topicPrefix}.`));
  const messages = await readMessagesAt(inject('stack'), names);
  const topics = [...Map.groupBy(messages, ({ topic }) => topic)].map(([topic, ofTopic]): FrozenTopic => {
    const suffix = suffixOf(topic);
    const schema = readSchemaFiles().get(suffix);
    const [framed] = ofTopic.flatMap(({ message: { value } }) => value ?? []);
    const records = ofTopic.map(({ partition, message: { offset, key, value, headers } }) => ({
      partition,
      offset: Number(offset),
      key: String(key),
      value: value?.toString('base64') ?? null,
      headers: headerTexts(headers),
    }));
    return {
      suffix,
      records,
      schema: schema === undefined ? null : { id: framed?.readInt32BE(1) ?? 0, text: JSON.stringify(schema) },
    };
  });
  await using redis = connect();
  const hashes = (await redis.client.keys(`*${topicPrefix}*`)).map(async (key) => {
    const fields = Object.entries(await redis.client.hgetallBuffer(key));
    return [key, fields.flat().map((part) => Buffer.from(part).toString('base64'))] as const;
  });
  return { topicPrefix, topics, redis: Object.fromEntries(await Promise.all(hashes)) };
}

function suffixOf(topic: string): TopicSuffix {
  return topic.slice(topic.lastIndexOf('.') + 1) as TopicSuffix;
}

/** Puts it all back. Only the ids of the schemas may be others. */
export async function thaw({ topicPrefix, topics, redis }: FrozenTenant): Promise<void> {
  const { registryUrl } = inject('stack');
  await deleteTopicsOf(topicPrefix);
  const ids = new Map<number, number>();
  const producer = plainKafka().producer({ allowAutoTopicCreation: false });
  await producer.connect();
  for (const { suffix, schema } of topics) {
    const topic = `${topicPrefix}.north.${suffix}`;
    const configEntries = topicSettings(suffix).map(({ name, value }) => ({ name, value }));
    await createTopic({ topic, numPartitions: suffix === 'progress' ? 1 : 3, configEntries });
    if (schema === null) continue;
    const subject = `${registryUrl}/subjects/${topic}-value/versions`;
    await tellRegistry(subject, 'POST', { schema: schema.text });
    await tellRegistry(`${registryUrl}/config/${topic}-value`, 'PUT', { compatibility: 'FULL_TRANSITIVE' });
    const { id } = (await (await fetch(`${subject}/latest`)).json()) as { id: number };
    ids.set(schema.id, id);
  }
  for (const { suffix, schema, records } of topics)
    for (const some of Map.groupBy(records, ({ partition }) => partition).values()) {
      const messages = messagesOf(some, schema === null ? new Map() : ids);
      await producer.send({ topic: `${topicPrefix}.north.${suffix}`, messages });
    }
  await producer.disconnect();
  await using client = connect();
  for (const [key, parts] of Object.entries(redis))
    await client.client.hset(key, ...parts.map((part) => Buffer.from(part, 'base64')));
}

/** At the offsets that they had: what stood between them, such as a transaction's end, is a removal of a key that is not there. */
function messagesOf(records: readonly FrozenRecord[], ids: ReadonlyMap<number, number>): Message[] {
  const messages: Message[] = [];
  for (const { partition, offset, key, value: text, headers } of records) {
    while (messages.length < offset) messages.push({ partition, key: '@seal', value: null });
    const value = text === null ? null : Buffer.from(text, 'base64');
    const idOf = (id: number): number => ids.get(id) ?? id;
    if (value !== null && ids.size > 0) value.writeInt32BE(idOf(value.readInt32BE(1)), 1);
    const schemas = headers['ce_schemas']?.replaceAll(/\d+/g, (id) => String(idOf(Number(id))));
    const own = schemas === undefined ? headers : { ...headers, ce_schemas: schemas };
    messages.push({ partition, key, value, headers: own });
  }
  return messages;
}
