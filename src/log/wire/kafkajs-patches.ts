import { createRequire } from 'node:module';
import { decodeBatch } from './fetched-batch.ts';

const require = createRequire(import.meta.url);
let isPatched = false;

/**
 * Changes what kafkajs 2.2.4 does with connections, requests and batches, in this whole process. Call this before the
 * first connection.
 */
export function patchKafkaJs(): void {
  if (isPatched) return;
  isPatched = true;
  patch<{ prototype: RequestQueue }>('network/requestQueue', sleepWhileIdle);
  patch<DecodeBatch>('protocol/recordBatch/v0/decoder', decodeInPlace);
  patch<typeof Encoder>('protocol/encoder', copyOnce);
}

/** Changes what a module exports, once, or puts in its place what `change` returns. */
function patch<Exports extends object>(path: string, change: (exports: Exports) => Exports | void): void {
  const file = `kafkajs/src/${path}`;
  const before = require(file) as Exports;
  const loaded = require.cache[require.resolve(file)];
  if (loaded !== undefined) loaded.exports = change(before) ?? before;
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

/**
 * Stops kafkajs from checking once a millisecond, for each idle connection, whether requests wait. The queue of a
 * connection re-arms its timer with a delay of `throttledUntil - now`, which is negative when nothing is throttled. An
 * idle queue needs no timer, because every new request schedules the check itself; and a process that only polls needs
 * a connection only once in many seconds.
 */
function sleepWhileIdle({ prototype: queue }: { prototype: RequestQueue }): void {
  const { scheduleCheckPendingRequests } = queue;
  queue.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

interface Decoder {
  readonly buffer: Buffer;
  readonly offset: number;
  forward(bytes: number): void;
}

/** A decoder of kafkajs. kafkajs uses only the records of its result. */
type DecodeBatch = (decoder: Decoder) => Promise<{ readonly records: readonly object[] }>;

/**
 * Decodes what kafkajs fetches, for three reasons.
 *
 * First, kafkajs makes a dozen objects of each record, including its headers, even if no code reads them. This costs
 * some 10 µs a record, a fifth of a recovery. Incomplete batches are still left to kafkajs.
 *
 * Second, the cleaner keeps the last batch of each producer even if none of its records remains (KIP-98, "Log
 * Compaction for Transactional Topics"). kafkajs ignores such a batch; if a segment contains nothing else, kafkajs
 * fetches the same offset without end. So this adds a control record at the last offset of a batch without a record
 * there: no consumer receives it, and the position advances.
 *
 * Third, of the codecs that a topic may be compressed with, kafkajs knows only gzip, and sets no limit to the
 * decompressed size.
 */
function decodeInPlace(decodeByKafkaJs: DecodeBatch): DecodeBatch {
  return async (decoder) => {
    const decoded = await decodeBatch(decoder.buffer.subarray(decoder.offset));
    if (decoded === null) return decodeByKafkaJs(decoder);
    decoder.forward(decoded.bytes);
    const { records, lastOffset: offset, context: batchContext } = decoded;
    if (records.at(-1)?.offset === offset) return { records };
    return { records: [...records, { offset, key: null, value: null, isControlRecord: true, batchContext }] };
  };
}

/** The parts of kafkajs' encoder that Rollcall uses. */
export declare class Encoder {
  constructor(bytes?: number);
  readonly buffer: Buffer;
  size: () => number;
  writeInt16: (value: number) => Encoder;
  writeInt32: (value: number) => Encoder;
  writeString: (value: string | null) => Encoder;
  writeEncoder: (this: Encoder, value: Encoder | EncodedRequest) => Encoder | EncodedRequest;
}

/** A request in parts, which are copied once, into what goes to the socket. */
export class EncodedRequest {
  readonly parts: readonly Buffer[];
  #bytes: Buffer | undefined;

  constructor(parts: readonly Buffer[]) {
    this.parts = parts;
  }

  get buffer(): Buffer {
    return (this.#bytes ??= Buffer.concat(this.parts));
  }

  size(): number {
    return this.parts.reduce((all, part) => all + part.length, 0);
  }
}

/**
 * kafkajs copies the body of a request behind its head, and both behind their length. Each of these buffers grows to a
 * power of two, filled with zeros.
 */
function copyOnce({ prototype: encoder }: typeof Encoder): void {
  const { writeEncoder } = encoder;
  encoder.writeEncoder = function (value) {
    if (!(value instanceof EncodedRequest)) return writeEncoder.call(this, value);
    return new EncodedRequest([this.buffer, ...value.parts]);
  };
}
