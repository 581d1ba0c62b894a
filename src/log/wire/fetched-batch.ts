import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import lz4 from 'lz4js';
import snappy from 'snappyjs';
import { AT, TRANSACTIONAL } from './record-batch.ts';

/** What the records of a batch have in common. */
type BatchContext = ReturnType<typeof contextOf> & {
  /** Whether the records of the batch cannot be decompressed. Then the batch has no records here. */
  readonly isUnreadable: boolean;
};

export interface FetchedBatch {
  readonly records: readonly FetchedRecord[];
  readonly lastOffset: string;
  readonly context: BatchContext;
  /** The length of the whole batch, bytes. */
  readonly bytes: number;
}

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

const BEFORE_LENGTH_ENDS = 12;
const CODEC = 0x07;
const LOG_APPEND_TIME = 0x08;
const CONTROL = 0x20;
const NONE = Buffer.alloc(0);

/** Decodes the first batch; null if it is incomplete. */
export async function decodeBatch(bytes: Buffer): Promise<FetchedBatch | null> {
  if (bytes.length < AT.records) return null;
  const end = BEFORE_LENGTH_ENDS + bytes.readInt32BE(AT.length);
  if (bytes.length < end) return null;
  const count = bytes.readInt32BE(AT.count);
  const codec = count === 0 ? 0 : bytes.readInt16BE(AT.attributes) & CODEC;
  const packed = bytes.subarray(AT.records, end);
  const unpacked = codec === 0 ? packed : await decompress(codec, packed);
  const context = { ...contextOf(bytes), isUnreadable: unpacked === null };
  const cursor = { bytes: unpacked ?? NONE, at: 0 };
  const records: FetchedRecord[] = [];
  for (let left = count; left > 0 && cursor.at < cursor.bytes.length; left -= 1) {
    const length = readVarint(cursor);
    records.push(new FetchedRecord(cursor.bytes, cursor.at, context));
    cursor.at += length;
  }
  const lastOffset = String(context.firstOffset + bytes.readInt32BE(AT.lastOffsetDelta));
  return { records, lastOffset, context, bytes: end };
}

function contextOf(bytes: Buffer) {
  const attributes = bytes.readInt16BE(AT.attributes);
  return {
    firstOffset: Number(bytes.readBigInt64BE(AT.firstOffset)),
    firstTimestamp: Number(bytes.readBigInt64BE(AT.firstTimestamp)),
    /** ms since the epoch; null: each record has its own time. */
    appendedAt: (attributes & LOG_APPEND_TIME) === 0 ? null : String(bytes.readBigInt64BE(AT.maxTimestamp)),
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControlBatch: (attributes & CONTROL) !== 0,
    producerId: String(bytes.readBigInt64BE(AT.producerId)),
  };
}

/** A record as kafkajs passes it on, as far as anything reads it. It decodes its headers only on demand. */
export class FetchedRecord {
  /** ms since the epoch */
  readonly timestamp: string;
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly isControlRecord: boolean;
  readonly batchContext: BatchContext;
  readonly #bytes: Buffer;
  readonly #headersAt: number;

  /** `at`: position in `bytes` after the record's length. */
  constructor(bytes: Buffer, at: number, context: BatchContext) {
    // after the attributes, of which Kafka uses none
    const cursor = { bytes, at: at + 1 };
    const timestampDelta = readVarint(cursor);
    this.timestamp = context.appendedAt ?? String(context.firstTimestamp + timestampDelta);
    this.offset = String(context.firstOffset + readVarint(cursor));
    this.key = readBytes(cursor);
    this.value = readBytes(cursor);
    this.isControlRecord = context.isControlBatch;
    this.batchContext = context;
    this.#bytes = bytes;
    this.#headersAt = cursor.at;
  }

  /** All headers. Of headers with the same name, which Rollcall does not write, only the last. */
  get headers(): Readonly<Record<string, Buffer | undefined>> {
    const headers: [name: string, value: Buffer | undefined][] = [];
    const cursor = { bytes: this.#bytes, at: this.#headersAt };
    for (let left = readVarint(cursor); left > 0; left -= 1)
      headers.push([String(readBytes(cursor)), readBytes(cursor) ?? undefined]);
    return Object.fromEntries(headers);
  }

  /** Returns the value of a header whose name is ASCII, without decoding the others. */
  header(name: string): Buffer | undefined {
    const cursor = { bytes: this.#bytes, at: this.#headersAt };
    for (let left = readVarint(cursor); left > 0; left -= 1) {
      const length = readVarint(cursor);
      const start = cursor.at;
      cursor.at += length;
      if (length === name.length && isAt(name, this.#bytes, start)) return readBytes(cursor) ?? undefined;
      skipBytes(cursor);
    }
    return undefined;
  }
}

/** The part of a fetch answer that is about one partition, as kafkajs decodes it. */
export interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: string;
  readonly abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[];
  readonly messages: readonly FetchedRecord[];
}

/** Version 0, type "abort" (KIP-98). */
const ABORT_MARKER = Buffer.alloc(4);

/** Returns the records without markers, and without those of aborted transactions. */
export function committedRecords({
  messages,
  abortedTransactions = [],
}: FetchedPartition): readonly FetchedRecord[] {
  const toAbort = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, first: Number(firstOffset) }))
    .toSorted((a, b) => a.first - b.first);
  const aborting = new Set<string>();
  return messages.filter(({ offset, key, isControlRecord, batchContext }) => {
    while (toAbort[0] !== undefined && toAbort[0].first <= Number(offset))
      aborting.add(toAbort.shift()!.producerId);
    const { producerId, inTransaction } = batchContext;
    if (isControlRecord && key?.equals(ABORT_MARKER) === true) aborting.delete(producerId);
    return !isControlRecord && !(inTransaction && aborting.has(producerId));
  });
}

function isAt(text: string, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < text.length; at += 1) if (bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
}

/** Reads bytes that follow their length; null if the length is -1. */
function readBytes(cursor: Cursor): Buffer | null {
  const length = readVarint(cursor);
  if (length < 0) return null;
  const start = cursor.at;
  cursor.at += length;
  return cursor.bytes.subarray(start, cursor.at);
}

/** Skips bytes that follow their length. It makes no view of them, because a view costs more than reading the length. */
function skipBytes(cursor: Cursor): void {
  const length = readVarint(cursor);
  if (length > 0) cursor.at += length;
}

/**
 * Reads Kafka's varint and varlong within the exact integers of a double: seven bits a byte, lowest first, then zigzag.
 */
function readVarint(cursor: Cursor): number {
  let byte = cursor.bytes[cursor.at] ?? 0;
  cursor.at += 1;
  let value = byte & 0x7f;
  for (let scale = 0x80; byte > 0x7f; scale *= 0x80) {
    byte = cursor.bytes[cursor.at] ?? 0;
    cursor.at += 1;
    value += (byte & 0x7f) * scale;
  }
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/**
 * The size limit of a batch's decompressed records: that of the longest request that a broker takes by default
 * (`socket.request.max.bytes`).
 */
export const MAX_DECOMPRESSED_BYTES = 104_857_600;
const AT_MOST = { maxOutputLength: MAX_DECOMPRESSED_BYTES };
/** Before the blocks of snappy-java's framing: its magic bytes, and two versions. */
const SNAPPY_HEAD_BYTES = 16;

type Decompress = (bytes: Buffer) => Promise<Uint8Array> | Uint8Array;

const inflateGzip = promisify(gunzip);
const inflateZstd = promisify(zstdDecompress);

/** The codec number n in the attributes of a batch stands at index n - 1: 0 means uncompressed (KIP-98, KIP-110). */
const CODECS: readonly Decompress[] = [
  (bytes) => inflateGzip(bytes, AT_MOST),
  inflateSnappy,
  inflateLz4,
  (bytes) => inflateZstd(bytes, AT_MOST),
];

/**
 * Decompresses the records of a batch. Brokers compress the records of a topic whose `compression.type` names a codec.
 * Returns null if the records are damaged, or longer than the bound.
 */
async function decompress(codec: number, bytes: Buffer): Promise<Buffer | null> {
  try {
    const { buffer, byteOffset, byteLength } = await CODECS[codec - 1]!(bytes);
    return Buffer.from(buffer, byteOffset, byteLength);
  } catch {
    return null;
  }
}

/** Blocks as snappy-java frames them, each after its length. */
function inflateSnappy(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  let left = MAX_DECOMPRESSED_BYTES;
  for (let at = SNAPPY_HEAD_BYTES; at < bytes.length;) {
    const start = at + 4;
    at = start + bytes.readInt32BE(at);
    const block = snappy.uncompress(bytes.subarray(start, at), left);
    left -= block.length;
    blocks.push(block);
  }
  return Buffer.concat(blocks);
}

function inflateLz4(bytes: Buffer): Uint8Array {
  // The types of the library do not declare the result.
  const bound = Number(lz4.decompressBound(bytes));
  if (!(bound <= MAX_DECOMPRESSED_BYTES)) throw new Error('a batch above the bound');
  return lz4.decompress(bytes, bound);
}
