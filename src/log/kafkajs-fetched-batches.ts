import { createRequire } from 'node:module';
import { AT, TRANSACTIONAL } from './batch-header.ts';
import { decompress } from './decompress.ts';
import { FetchedRecord, readVarint, type BatchContext } from './fetched-record.ts';

interface KafkaJsDecoder {
  readonly buffer: Buffer;
  readonly offset: number;
  forward(bytes: number): void;
}

interface DecodedBatch extends Omit<BatchContext, 'magicByte'> {
  readonly records: readonly { readonly offset: string }[];
}

type DecodeBatch = (decoder: KafkaJsDecoder) => Promise<DecodedBatch>;

const DECODER = 'kafkajs/src/protocol/recordBatch/v0/decoder';
const BEFORE_LENGTH_ENDS = 12;
const CODEC = 0x07;
const LOG_APPEND_TIME = 0x08;
const CONTROL = 0x20;
const patched = new WeakSet<DecodeBatch>();

/**
 * Decodes what kafkajs 2.2.4 fetches, for three reasons. Call this before the first fetch.
 *
 * First, kafkajs makes a dozen objects of each record, including its headers, even if no code reads them. This costs
 * some 10 µs a record, a fifth of a recovery. Incomplete batches are still left to kafkajs.
 *
 * Second, the cleaner keeps the last batch of each producer even if none of its records remains (KIP-98, "Log
 * Compaction for Transactional Topics"). kafkajs ignores such a batch; if a segment contains nothing else, kafkajs
 * fetches the same offset without end. So this adds a control record at the last offset of a batch without a record
 * there: no consumer receives it, and the position advances.
 *
 * Third, of the codecs that a topic may be compressed with, kafkajs knows only gzip, and bounds nothing.
 */
export function decodeFetchedBatches(): void {
  const require = createRequire(import.meta.url);
  const decode = require(DECODER) as DecodeBatch;
  const loaded = require.cache[require.resolve(DECODER)];
  if (patched.has(decode) || loaded === undefined) return;
  const decodeWithEnd: DecodeBatch = async (decoder) => {
    const batch = (await completeBatch(decoder)) ?? (await decode(decoder));
    return withEnd(batch);
  };
  patched.add(decodeWithEnd);
  loaded.exports = decodeWithEnd;
}

/** Returns null for a batch that is incomplete, and then leaves the decoder where it is. */
async function completeBatch(decoder: KafkaJsDecoder): Promise<DecodedBatch | null> {
  const bytes = decoder.buffer.subarray(decoder.offset);
  if (bytes.length < AT.records) return null;
  const end = BEFORE_LENGTH_ENDS + bytes.readInt32BE(AT.length);
  const attributes = bytes.readInt16BE(AT.attributes);
  if (bytes.length < end) return null;
  const context: BatchContext = {
    firstOffset: String(bytes.readBigInt64BE(AT.firstOffset)),
    firstTimestamp: String(bytes.readBigInt64BE(AT.firstTimestamp)),
    partitionLeaderEpoch: bytes.readInt32BE(AT.leaderEpoch),
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControlBatch: (attributes & CONTROL) !== 0,
    lastOffsetDelta: bytes.readInt32BE(AT.lastOffsetDelta),
    producerId: String(bytes.readBigInt64BE(AT.producerId)),
    producerEpoch: bytes.readInt16BE(AT.producerEpoch),
    firstSequence: bytes.readInt32BE(AT.firstSequence),
    maxTimestamp: String(bytes.readBigInt64BE(AT.maxTimestamp)),
    timestampType: (attributes & LOG_APPEND_TIME) === 0 ? 0 : 1,
    magicByte: bytes.readInt8(AT.magic),
  };
  const first = { offset: Number(context.firstOffset), timestamp: Number(context.firstTimestamp) };
  const count = bytes.readInt32BE(AT.count);
  const codec = count === 0 ? 0 : attributes & CODEC;
  const packed = bytes.subarray(AT.records, end);
  const cursor = { bytes: codec === 0 ? packed : await decompress(codec, packed), at: 0 };
  const records: FetchedRecord[] = [];
  for (let left = count; left > 0 && cursor.at < cursor.bytes.length; left -= 1) {
    const length = readVarint(cursor);
    records.push(new FetchedRecord(cursor.bytes, cursor.at, context, first));
    cursor.at += length;
  }
  decoder.forward(end);
  const { magicByte: _, ...batch } = context;
  return { ...batch, records };
}

function withEnd(batch: DecodedBatch): DecodedBatch {
  const lastOffset = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta));
  const { records, ...batchContext } = batch;
  if (records.at(-1)?.offset === lastOffset) return batch;
  const end = {
    magicByte: 2,
    attributes: 0,
    timestamp: batch.maxTimestamp,
    offset: lastOffset,
    key: null,
    value: null,
    headers: {},
    isControlRecord: true,
    batchContext,
  };
  return { ...batch, records: [...records, end] };
}
