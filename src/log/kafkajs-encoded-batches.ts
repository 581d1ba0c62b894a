import { createRequire } from 'node:module';
import { RecordBatch } from './record-batch.ts';

interface ProduceOptions {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  readonly producerId?: { toString(): string };
  readonly producerEpoch?: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly firstSequence?: number;
      readonly messages: unknown;
    }[];
  }[];
}

interface Encoder {
  buf: Buffer;
  offset: number;
}

type ProduceRequest = (options: ProduceOptions) => { encode: () => Promise<Encoder> };

const REQUEST = 'kafkajs/src/protocol/requests/produce/v3/request';
const patched = new WeakSet<ProduceRequest>();

/**
 * Lets kafkajs 2.2.4 send record batches that are already encoded ({@link RecordBatch}); it still encodes its own
 * messages. All later versions of the request in kafkajs build on version 3. Call this before the first send.
 */
export function sendEncodedBatches(): void {
  const require = createRequire(import.meta.url);
  const request = require(REQUEST) as ProduceRequest;
  const loaded = require.cache[require.resolve(REQUEST)];
  if (patched.has(request) || loaded === undefined) return;
  const KafkaJsEncoder = require('kafkajs/src/protocol/encoder') as new (bytes: number) => Encoder;
  const requestOfBatches: ProduceRequest = (options) => {
    if (!options.topicData.every(({ partitions }) => partitions.every(isEncoded))) return request(options);
    const encode = async (): Promise<Encoder> => {
      const bytes = encodeProduceRequest(options, Date.now());
      return Object.assign(new KafkaJsEncoder(0), { buf: bytes, offset: bytes.length });
    };
    return { ...request(options), encode };
  };
  patched.add(requestOfBatches);
  loaded.exports = requestOfBatches;
}

function isEncoded({ messages }: { readonly messages: unknown }): boolean {
  return messages instanceof RecordBatch;
}

/** Encodes a produce request of version 3 to 7 without its header. */
function encodeProduceRequest(options: ProduceOptions, nowMs: number): Buffer {
  const { acks, timeout, transactionalId = null, producerId = -1, producerEpoch = 0, topicData } = options;
  const owner = {
    producerId: BigInt(producerId.toString()),
    producerEpoch,
    isTransactional: transactionalId !== null,
  };
  const parts = [stringOf(transactionalId), int16(acks), int32(timeout), int32(topicData.length)];
  for (const { topic, partitions } of topicData) {
    parts.push(stringOf(topic), int32(partitions.length));
    for (const { partition, firstSequence = 0, messages } of partitions) {
      const batch = (messages as RecordBatch).seal({ ...owner, firstSequence }, nowMs);
      parts.push(int32(partition), int32(batch.length), batch);
    }
  }
  return Buffer.concat(parts);
}

function stringOf(text: string | null): Buffer {
  if (text === null) return int16(-1);
  const bytes = Buffer.from(text);
  return Buffer.concat([int16(bytes.length), bytes]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}
