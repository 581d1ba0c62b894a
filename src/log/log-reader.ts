import type { Kafka, KafkaMessage } from 'kafkajs';
import { MAPPING_HEADER } from '../core/cloud-events.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName } from '../model/topic-names.ts';
import { headerOf } from './fetched-batch.ts';
import type { EndMarkers } from './end-markers.ts';
import { readStretches, type Stretch } from './kafka-reader.ts';
import type { LoggedRecord } from './log.ts';

/** Reads a tenant's topics after the given offsets, up to and including the offsets in `last`. */
export async function readUpTo(options: {
  kafka: Kafka;
  groupIdPrefix: string;
  topicOf: (suffix: TopicSuffix) => string;
  from: readonly { topic: TopicSuffix; after: Offsets }[];
  last: EndMarkers;
  onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
  awaitsDecision?: boolean | undefined;
  onGroup?: ((groupId: string) => void) | undefined;
  signal: AbortSignal;
}): Promise<void> {
  const { topicOf, from, last, onBatch, ...readOptions } = options;
  const stretches: Stretch[] = [];
  const suffixes = new Map<string, TopicSuffix>();
  for (const { topic: suffix, after } of from) {
    const topic = topicOf(suffix);
    suffixes.set(topic, suffix);
    for (const { partition, offset } of last.get(topic) ?? []) {
      stretches.push({
        topic,
        partition,
        from: (after[partitionName(topic, partition)] ?? -1) + 1,
        to: offset + 1,
      });
    }
  }
  await readStretches({
    ...readOptions,
    stretches,
    onMessages: ({ topic, partition, messages }) => {
      const suffix = suffixes.get(topic);
      if (suffix === undefined) return Promise.resolve();
      return onBatch(messages.map((message) => toLoggedRecord(suffix, partition, message)));
    },
  });
}

function toLoggedRecord(topic: TopicSuffix, partition: number, message: KafkaMessage): LoggedRecord {
  const hash = headerOf(message, 'content-hash');
  const mapping = headerOf(message, MAPPING_HEADER);
  return {
    topic,
    partition,
    offset: Number(message.offset),
    publishedAtMs: Number(message.timestamp),
    key: message.key?.toString('utf8') ?? '',
    value: message.value,
    hash: hash === undefined ? null : Buffer.from(hash.toString('latin1'), 'hex'),
    mapping: mapping === undefined ? null : String(mapping),
    // A getter in a literal would cost ten times the rest of the object.
    headers: () => message.headers,
  };
}
