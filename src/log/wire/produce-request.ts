import { createRequire } from 'node:module';
import { EncodedRequest, type Encoder } from './kafkajs-patches.ts';
import type { ProduceRequest } from '../transaction-brokers.ts';

const require = createRequire(import.meta.url);

const ALL_REPLICAS = -1;

/** Encodes a produce request of version 3 to 7 without its header. */
export function encodeProduceRequest({ producer, batches, timeoutMs }: ProduceRequest): EncodedRequest {
  const KafkaJsEncoder = require('kafkajs/src/protocol/encoder') as typeof Encoder;
  const byTopic = Map.groupBy(batches, ({ topic }) => topic);
  const head = new KafkaJsEncoder()
    .writeString(producer.transactionalId)
    .writeInt16(ALL_REPLICAS)
    .writeInt32(timeoutMs);
  const parts = [head.writeInt32(byTopic.size).buffer];
  for (const [topic, some] of byTopic) {
    parts.push(new KafkaJsEncoder().writeString(topic).writeInt32(some.length).buffer);
    for (const { partition, bytes } of some)
      parts.push(new KafkaJsEncoder(8).writeInt32(partition).writeInt32(bytes.length).buffer, bytes);
  }
  return new EncodedRequest(parts);
}
