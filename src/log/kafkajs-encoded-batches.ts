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

/** What kafkajs writes a request into: the first `offset` bytes of `buf`. */
interface Encoder {
  buf: Buffer;
  offset: number;
  readonly buffer: Buffer;
  writeEncoder: (this: Encoder, value: Encoder) => Encoder;
  size: (this: Encoder) => number;
}

type ProduceRequest = (options: ProduceOptions) => { encode: () => Promise<Encoder> };

const REQUEST = 'kafkajs/src/protocol/requests/produce/v3/request';
const patched = new WeakSet<ProduceRequest>();
/** What follows the bytes that an encoder has written itself. */
const following = new WeakMap<Encoder, readonly Buffer[]>();

/**
 * Lets kafkajs 2.2.4 send record batches that are already encoded ({@link RecordBatch}); it still encodes its own
 * messages. All later versions of the request in kafkajs build on version 3. Call this before the first send.
 */
export function sendEncodedBatches(): void {
  const require = createRequire(import.meta.url);
  const request = require(REQUEST) as ProduceRequest;
  const loaded = require.cache[require.resolve(REQUEST)];
  if (patched.has(request) || loaded === undefined) return;
  const KafkaJsEncoder = require('kafkajs/src/protocol/encoder') as {
    new (bytes: number): Encoder;
    readonly prototype: Encoder;
  };
  copyOnce(KafkaJsEncoder.prototype);
  const requestOfBatches: ProduceRequest = (options) => {
    if (!options.topicData.every(({ partitions }) => partitions.every(isEncoded))) return request(options);
    const encode = async (): Promise<Encoder> => {
      const body = new KafkaJsEncoder(0);
      following.set(body, encodeProduceRequest(options, Date.now()));
      return body;
    };
    return { ...request(options), encode };
  };
  patched.add(requestOfBatches);
  loaded.exports = requestOfBatches;
}

/**
 * kafkajs writes the body of a request into a buffer with its head, and both into another one with their length. Each
 * buffer grows to a power of two, filled with zeros. Here an encoder takes over what follows another one's bytes, and all
 * is copied when somebody asks for the bytes.
 */
function copyOnce(encoder: Encoder): void {
  const { writeEncoder, size } = encoder;
  encoder.writeEncoder = function (value) {
    const rest = following.get(value);
    if (rest === undefined) return writeEncoder.call(this, value);
    following.set(this, [ownBytes(value), ...rest]);
    return this;
  };
  encoder.size = function () {
    const rest = following.get(this) ?? [];
    return rest.reduce((all, part) => all + part.length, size.call(this));
  };
  Object.defineProperty(encoder, 'buffer', {
    configurable: true,
    get(this: Encoder): Buffer {
      const rest = following.get(this);
      if (rest !== undefined) {
        this.buf = Buffer.concat([ownBytes(this), ...rest]);
        this.offset = this.buf.length;
        following.delete(this);
      }
      return ownBytes(this);
    },
  });
}

function ownBytes({ buf, offset }: Encoder): Buffer {
  return buf.subarray(0, offset);
}

function isEncoded({ messages }: { readonly messages: unknown }): boolean {
  return messages instanceof RecordBatch;
}

/** Encodes a produce request of version 3 to 7 without its header, in parts. */
function encodeProduceRequest(options: ProduceOptions, nowMs: number): readonly Buffer[] {
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
  return parts;
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
