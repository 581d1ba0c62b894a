import type { Kafka, KafkaMessage } from 'kafkajs';
import { FIRST_SEQUENCE_HEADER, MAPPING_HEADER } from '../core/cloud-events.ts';
import type { TopicSuffix } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName } from '../model/topics.ts';
import type { EndMarkers } from './end-markers.ts';
import { readStretches, type Stretch } from './kafka-reader.ts';
import type { LoggedRecord } from './log.ts';

/** Reads a tenant's topics from after the given offsets to their end markers. */
export async function readToEndMarkers(options: {
  kafka: Kafka;
  groupIdPrefix: string;
  topicOf: (suffix: TopicSuffix) => string;
  from: readonly { topic: TopicSuffix; after: Offsets }[];
  markers: EndMarkers;
  onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
  signal: AbortSignal;
}): Promise<void> {
  const { kafka, groupIdPrefix, topicOf, from, markers, onBatch, signal } = options;
  const stretches: Stretch[] = [];
  const suffixes = new Map<string, TopicSuffix>();
  for (const { topic: suffix, after } of from) {
    const topic = topicOf(suffix);
    suffixes.set(topic, suffix);
    for (const { partition, offset } of markers.get(topic) ?? []) {
      stretches.push({
        topic,
        partition,
        from: (after[partitionName(topic, partition)] ?? -1) + 1,
        to: offset + 1,
      });
    }
  }
  await readStretches({
    kafka,
    groupIdPrefix,
    stretches,
    onMessages: ({ topic, partition, messages }) => {
      const suffix = suffixes.get(topic);
      if (suffix === undefined) return Promise.resolve();
      return onBatch(messages.map((message) => toLoggedRecord(suffix, partition, message)));
    },
    signal,
  });
}

function toLoggedRecord(topic: TopicSuffix, partition: number, message: KafkaMessage): LoggedRecord {
  const header = message.headers?.['content-hash'];
  const first = message.headers?.[FIRST_SEQUENCE_HEADER];
  const mapping = message.headers?.[MAPPING_HEADER];
  return {
    topic,
    partition,
    offset: Number(message.offset),
    publishedAtMs: Number(message.timestamp),
    key: message.key?.toString('utf8') ?? '',
    value: message.value,
    hash: header === undefined ? null : Buffer.from(String(header), 'hex'),
    firstSequence: first === undefined ? null : Number(first),
    mapping: mapping === undefined ? null : String(mapping),
  };
}
