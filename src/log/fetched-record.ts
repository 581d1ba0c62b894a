import type { IHeaders, KafkaMessage } from 'kafkajs';

/** The facts about a batch that kafkajs passes on with each of its records. */
export interface BatchContext {
  readonly firstOffset: string;
  readonly firstTimestamp: string;
  readonly partitionLeaderEpoch: number;
  readonly inTransaction: boolean;
  readonly isControlBatch: boolean;
  readonly lastOffsetDelta: number;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly maxTimestamp: string;
  readonly timestampType: number;
  readonly magicByte: number;
}

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

const LOG_APPEND_TIME = 1;

/** A record as kafkajs' consumer passes it on. It decodes its headers only on demand. */
export class FetchedRecord {
  readonly magicByte: number;
  readonly attributes: number;
  /** ms since the epoch */
  readonly timestamp: string;
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly isControlRecord: boolean;
  readonly batchContext: BatchContext;
  readonly #bytes: Buffer;
  readonly #headersAt: number;

  /** `at`: position in `bytes` after the record's length. `first`: offset and time of the batch. */
  constructor(
    bytes: Buffer,
    at: number,
    context: BatchContext,
    first: { offset: number; timestamp: number },
  ) {
    const cursor = { bytes, at: at + 1 };
    const timestampDelta = readVarint(cursor);
    this.magicByte = context.magicByte;
    this.attributes = bytes.readInt8(at);
    this.timestamp =
      context.timestampType === LOG_APPEND_TIME
        ? context.maxTimestamp
        : String(first.timestamp + timestampDelta);
    this.offset = String(first.offset + readVarint(cursor));
    this.key = readBytes(cursor);
    this.value = readBytes(cursor);
    this.isControlRecord = context.isControlBatch;
    this.batchContext = context;
    this.#bytes = bytes;
    this.#headersAt = cursor.at;
  }

  /** All headers; if a name occurs more than once, its values are an array, as in kafkajs. */
  get headers(): IHeaders {
    const headers: Record<string, Buffer | Buffer[] | undefined> = {};
    const cursor = { bytes: this.#bytes, at: this.#headersAt };
    for (let left = readVarint(cursor); left > 0; left -= 1) {
      const name = String(readBytes(cursor));
      const value = readBytes(cursor);
      const before = Object.hasOwn(headers, name) ? headers[name] : undefined;
      const all = before === undefined ? value : [before, value].flat();
      Object.defineProperty(headers, name, {
        value: all,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return headers;
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

/** Returns the value of a header of a message; every message that a consumer gets is a {@link FetchedRecord}. */
export function headerOf(message: KafkaMessage, name: string): Buffer | undefined {
  return (message as FetchedRecord).header(name);
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

/** Passes bytes that follow their length, without a view of them: a view costs more than reading the length. */
function skipBytes(cursor: Cursor): void {
  const length = readVarint(cursor);
  if (length > 0) cursor.at += length;
}

/**
 * Reads Kafka's varint and varlong within the exact integers of a double: seven bits a byte, lowest first, then zigzag.
 */
export function readVarint(cursor: Cursor): number {
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
