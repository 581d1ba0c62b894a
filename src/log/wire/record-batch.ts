import { writeText, writeVarint } from '../../core/avro/prefixed-text.ts';
import { FRAME_BYTES, writeFrameHead } from '../registry/framing.ts';

/** Position of each field of a batch's header, in bytes (KIP-98; Kafka's DefaultRecordBatch, magic 2). */
export const AT = {
  firstOffset: 0,
  length: 8,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  firstSequence: 53,
  count: 57,
  records: 61,
} as const;

/** The attribute of a batch that belongs to a transaction. */
export const TRANSACTIONAL = 0x10;

/** The numbers that identify a batch of a transactional producer to the broker (KIP-98). */
export interface BatchOwner {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** Number of the batch's first record among those of this producer in this partition. */
  readonly firstSequence: number;
}

type Headers = Readonly<Record<string, string>>;

export interface BatchRecord {
  readonly key: string;
  /** Without its frame; null removes the key. */
  readonly body: Buffer | null;
  /** Id of the body's schema in the registry; null for a body that is published without a frame. */
  readonly schemaId: number | null;
  readonly headers: Headers;
  /** Further headers. Their bytes are made once for each such object. */
  readonly sharedHeaders?: Headers | undefined;
}

const MAGIC = 2;
const FIRST_CAPACITY_BYTES = 16_384;
const MAX_VARINT_BYTES = 5;
/** The largest number of UTF-8 bytes that one UTF-16 unit of a string can become. */
const UTF8_BYTES_PER_UNIT = 3;
/**
 * Memory of batches that were sent, for later ones. New memory for each batch lasts until V8 collects all of the heap, and
 * the system must fill each page of it with zeros first.
 */
const spares: Buffer[] = [];
const MOST_SPARES = 8;
/** A batch of one large record is rare. */
const LARGEST_SPARE_BYTES = 2_097_152;
const NONE = Buffer.alloc(0);

/** Most records of up to 8 KiB have a length of two bytes; others are moved. */
const LIKELY_LENGTH_BYTES = 2;

/**
 * A batch of records for one partition in Kafka's own format (KIP-98, magic 2), written record by record into one
 * buffer. The encoder of kafkajs allocates several zeroed buffers for each record, which cost most of what a row cost.
 */
export class RecordBatch {
  #bytes = spares.pop() ?? Buffer.allocUnsafeSlow(FIRST_CAPACITY_BYTES);
  #end: number = AT.records;
  #count = 0;

  /** Number of records. Each takes one of the sequence numbers that the producer counts in a partition. */
  get length(): number {
    return this.#count;
  }

  get byteLength(): number {
    return this.#end;
  }

  append(record: BatchRecord): void {
    const { key, body, schemaId } = record;
    const start = this.#end;
    this.#reserve(start + LIKELY_LENGTH_BYTES + maxRecordBytes(record));
    let at = start + LIKELY_LENGTH_BYTES;
    // attributes and timestamp delta: all records of a batch have the time at which the batch is sealed
    this.#bytes[at] = 0;
    this.#bytes[at + 1] = 0;
    at = writeVarint(this.#bytes, at + 2, this.#count);
    at = writeText(this.#bytes, at, key);
    if (body === null) {
      at = writeVarint(this.#bytes, at, -1);
    } else {
      at = writeVarint(this.#bytes, at, body.length + (schemaId === null ? 0 : FRAME_BYTES));
      if (schemaId !== null) at = writeFrameHead(this.#bytes, at, schemaId);
      this.#bytes.set(body, at);
      at += body.length;
    }
    at = this.#writeHeaders(at, record);
    this.#end = this.#writeLength(start, at);
    this.#count += 1;
  }

  /** Writes the header of the batch and returns its bytes, which are valid until the next `append` or `seal`. */
  seal(owner: BatchOwner, nowMs: number): Buffer {
    const bytes = this.#bytes;
    const now = BigInt(nowMs);
    bytes.fill(0, 0, AT.magic);
    bytes.writeInt32BE(this.#end - AT.length - 4, AT.length);
    bytes[AT.magic] = MAGIC;
    bytes.writeInt16BE(TRANSACTIONAL, AT.attributes);
    bytes.writeInt32BE(this.#count - 1, AT.lastOffsetDelta);
    bytes.writeBigInt64BE(now, AT.firstTimestamp);
    bytes.writeBigInt64BE(now, AT.maxTimestamp);
    bytes.writeBigInt64BE(owner.producerId, AT.producerId);
    bytes.writeInt16BE(owner.producerEpoch, AT.producerEpoch);
    bytes.writeInt32BE(owner.firstSequence, AT.firstSequence);
    bytes.writeInt32BE(this.#count, AT.count);
    bytes.writeUInt32BE(crc32c(bytes.subarray(AT.attributes, this.#end)), AT.crc);
    return bytes.subarray(0, this.#end);
  }

  /** Lets later batches have the memory; this one, and what `seal` returned, must not be used again. */
  release(): void {
    const { length } = this.#bytes;
    const isReusable = length >= FIRST_CAPACITY_BYTES && length <= LARGEST_SPARE_BYTES;
    if (isReusable && spares.length < MOST_SPARES) spares.push(this.#bytes);
    this.#bytes = NONE;
    this.#end = 0;
    this.#count = 0;
  }

  #writeHeaders(start: number, { headers, sharedHeaders }: Omit<BatchRecord, 'body'>): number {
    const shared = encodedHeaders(sharedHeaders);
    let { count } = shared;
    for (const _ in headers) count += 1;
    let at = writeVarint(this.#bytes, start, count);
    this.#bytes.set(shared.bytes, at);
    at += shared.bytes.length;
    return writeHeaders(this.#bytes, at, headers);
  }

  /** Puts the record's length before it, and returns its end. */
  #writeLength(start: number, end: number): number {
    const length = end - start - LIKELY_LENGTH_BYTES;
    const moved = varintBytes(length) - LIKELY_LENGTH_BYTES;
    if (moved !== 0)
      this.#bytes.copyWithin(start + LIKELY_LENGTH_BYTES + moved, start + LIKELY_LENGTH_BYTES, end);
    writeVarint(this.#bytes, start, length);
    return end + moved;
  }

  #reserve(end: number): void {
    if (end <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(end, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }
}

/** Returns an upper bound of a record's size in a batch, without measuring its strings. */
export function maxRecordBytes({ key, body, headers, sharedHeaders }: Omit<BatchRecord, 'schemaId'>): number {
  const bytes = 5 * MAX_VARINT_BYTES + maxStringBytes(key) + FRAME_BYTES + (body?.length ?? 0);
  return bytes + maxHeaderBytes(headers) + encodedHeaders(sharedHeaders).bytes.length;
}

function maxHeaderBytes(headers: Headers): number {
  let bytes = 0;
  for (const name in headers) bytes += maxStringBytes(name) + maxStringBytes(headers[name] ?? '');
  return bytes;
}

/** Returns the position after the headers. */
function writeHeaders(bytes: Buffer, start: number, headers: Headers): number {
  let at = start;
  for (const name in headers) {
    at = writeText(bytes, at, name);
    at = writeText(bytes, at, headers[name] ?? '');
  }
  return at;
}

const ENCODED = new WeakMap<Headers, { readonly count: number; readonly bytes: Buffer }>();
const NO_HEADERS = {};

function encodedHeaders(headers: Headers = NO_HEADERS): { readonly count: number; readonly bytes: Buffer } {
  let encoded = ENCODED.get(headers);
  if (encoded === undefined) {
    const bytes = Buffer.alloc(maxHeaderBytes(headers));
    const end = writeHeaders(bytes, 0, headers);
    encoded = { count: Object.keys(headers).length, bytes: bytes.subarray(0, end) };
    ENCODED.set(headers, encoded);
  }
  return encoded;
}

function maxStringBytes(text: string): number {
  return MAX_VARINT_BYTES + text.length * UTF8_BYTES_PER_UNIT;
}

function varintBytes(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  return zigzag === 0 ? 1 : Math.ceil((32 - Math.clz32(zigzag)) / 7);
}

const TABLE_SIZE = 256;
/**
 * The n-th table (from 0) has, for each value of a byte, what this byte contributes to the checksum if n zero bytes
 * follow it.
 */
const CRC_TABLES = crcTables();

/**
 * Returns the CRC-32C of bytes (RFC 3720, B.4; Node's own CRC-32 has another polynomial), 0 to 2^32 - 1. It takes eight
 * bytes at a time ("slicing-by-8", Kounavis and Berry 2005).
 */
export function crc32c(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sliced = bytes.length - (bytes.length % 8);
  let crc = -1;
  let at = 0;
  for (; at < sliced; at += 8)
    crc = crcOf(crc ^ view.getInt32(at, true), 4) ^ crcOf(view.getInt32(at + 4, true), 0);
  for (; at < bytes.length; at += 1) crc = (crc >>> 8) ^ look(0, crc ^ view.getUint8(at));
  return ~crc >>> 0;
}

/** The contribution of four bytes that `zeros` bytes follow. */
function crcOf(word: number, zeros: number): number {
  return (
    look(zeros + 3, word) ^
    look(zeros + 2, word >>> 8) ^
    look(zeros + 1, word >>> 16) ^
    look(zeros, word >>> 24)
  );
}

function look(table: number, value: number): number {
  return CRC_TABLES[table * TABLE_SIZE + (value & 0xff)] ?? 0;
}

function crcTables(): Int32Array {
  const tables = new Int32Array(8 * TABLE_SIZE);
  for (let byte = 0; byte < TABLE_SIZE; byte += 1) {
    let rest = byte;
    for (let bit = 0; bit < 64; bit += 1) {
      // the polynomial, bits reversed
      rest = (rest >>> 1) ^ ((rest & 1) === 0 ? 0 : 0x82f63b78);
      if (bit % 8 === 7) tables[(bit >>> 3) * TABLE_SIZE + byte] = rest;
    }
  }
  return tables;
}
