import { createRequire } from 'node:module';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { KafkaMessage } from 'kafkajs';
import * as fc from 'fast-check';
import lz4 from 'lz4js';
import snappy from 'snappyjs';
import { describe, expect, it } from 'vitest';
import { FetchedRecord, headerOf, MAX_DECOMPRESSED_BYTES } from '../../../src/log/fetched-batch.ts';
import { patchKafkaJs } from '../../../src/log/kafkajs-patches.ts';
import { RecordBatch } from '../../../src/log/record-batch.ts';

interface Message {
  readonly headers: unknown;
  readonly offset: string;
  readonly isControlRecord: boolean;
}

interface FetchedBatch {
  isEmptyDueToFiltering(): boolean;
  lastOffset(): string;
  readonly messages: readonly Message[];
}

const require = createRequire(import.meta.url);
const DECODER = require.resolve('kafkajs/src/protocol/recordBatch/v0/decoder');
type DecodeBatch = (decoder: object) => Promise<{ records: readonly Message[] }>;
const decodeByKafkaJs = require(DECODER) as DecodeBatch;
patchKafkaJs();
patchKafkaJs();
const decodePatched = require(DECODER) as DecodeBatch;
const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
const decodeMessages = require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages') as (
  decoder: object,
) => Promise<Message[]>;
const Batch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  data: object,
) => FetchedBatch;

/** Makes a record batch (magic 2) with the records that compaction left: offset deltas, each with a key of one byte. */
function batchBytes(options: { baseOffset: number; lastDelta: number; deltas: number[] }): Buffer {
  const records = options.deltas.map((delta) => {
    // attributes, timestamp delta, offset delta, key length, key, value length, headers; varints are zigzag
    const body = Buffer.from([0, 0, delta * 2, 2, 107, 1, 0]);
    return Buffer.concat([Buffer.from([body.length * 2]), body]);
  });
  const head = Buffer.alloc(61);
  head.writeBigInt64BE(BigInt(options.baseOffset), 0);
  head.writeInt8(2, 16);
  head.writeInt16BE(0x10, 21);
  head.writeInt32BE(options.lastDelta, 23);
  head.writeBigInt64BE(7n, 43);
  head.writeInt32BE(records.length, 57);
  const batch = Buffer.concat([head, ...records]);
  batch.writeInt32BE(batch.length - 12, 8);
  return batch;
}

async function decode(...batches: Buffer[]): Promise<Message[]> {
  const bytes = Buffer.concat(batches);
  const size = Buffer.alloc(4);
  size.writeInt32BE(bytes.length);
  return decodeMessages(new Decoder(Buffer.concat([size, bytes])));
}

async function fetched(offset: number, ...batches: Buffer[]): Promise<FetchedBatch> {
  const messages = await decode(...batches);
  return new Batch('topic', String(offset), { partition: 0, highWatermark: '100', messages });
}

describe('batches that compaction has thinned out', () => {
  it.each([
    ['one without any record is passed, and not fetched again', [], '14'],
    ['one without its last records is passed in one step', ['10', '11'], '14'],
    ['records after an empty one are read', ['15'], '15'],
  ])('%s', async (_, offsets, last) => {
    const deltas = offsets[0] === '10' ? [0, 1] : [];
    const batches = [batchBytes({ baseOffset: 10, lastDelta: 4, deltas })];
    if (last === '15') batches.push(batchBytes({ baseOffset: 15, lastDelta: 0, deltas: [0] }));
    const batch = await fetched(10, ...batches);
    expect(batch.isEmptyDueToFiltering()).toBe(offsets.length === 0);
    expect(batch.messages.map(({ offset }) => offset)).toEqual(offsets);
    expect(batch.lastOffset()).toBe(last);
  });

  it('a complete one stays as it is', async () => {
    const messages = await decode(batchBytes({ baseOffset: 10, lastDelta: 1, deltas: [0, 1] }));
    expect(messages.map(({ isControlRecord }) => isControlRecord)).toEqual([false, false]);
  });
});

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom('ce_id', 'ce_type', '1'),
);
/** kafkajs takes a name that every object inherits (`valueOf`) for a header that came before. */
const headerName = text.filter((name) => !(name in {}));
const record = fc.record({
  key: text,
  body: fc.option(fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))),
  schemaId: fc.option(fc.nat()),
  headers: fc.array(fc.tuple(headerName, text), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
});
const owner = fc.record({
  producerId: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  producerEpoch: fc.nat(0x7fff),
  firstSequence: fc.nat(),
  isTransactional: fc.boolean(),
});
const AT_OFFSET = 0;
const AT_ATTRIBUTES = 21;
const AT_MAX_TIMESTAMP = 35;

/** As Java's client frames it: snappy-java's head, then blocks after their lengths. */
function compressSnappy(bytes: Buffer<ArrayBuffer>): Buffer {
  const parts = [Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1])];
  for (let at = 0; at < bytes.length; at += 32_768) {
    const block = snappy.compress(bytes.subarray(at, at + 32_768));
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

const CODECS = [
  { name: 'gzip', codec: 1, compress: (bytes: Buffer) => gzipSync(bytes) },
  { name: 'snappy', codec: 2, compress: compressSnappy },
  { name: 'lz4', codec: 3, compress: (bytes: Buffer) => Buffer.from(lz4.compress(bytes)) },
  { name: 'zstd', codec: 4, compress: (bytes: Buffer) => zstdCompressSync(bytes) },
];

/** The batch as a broker stores it in a topic with this codec. */
function compressed(bytes: Buffer, codec: number, compress: (bytes: Buffer<ArrayBuffer>) => Buffer): Buffer {
  const batch = Buffer.concat([bytes.subarray(0, 61), compress(Buffer.from(bytes.subarray(61)))]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt16BE(batch.readInt16BE(AT_ATTRIBUTES) | codec, AT_ATTRIBUTES);
  return batch;
}

describe('a fetched batch', () => {
  /** A batch as a broker stores it: with an offset, maybe with its own time, maybe as a control batch. */
  const stored = fc
    .record({
      records: fc.array(record, { minLength: 1, maxLength: 70 }),
      owner,
      nowMs: fc.nat({ max: 2 ** 42 }),
      offset: fc.bigInt({ min: 0n, max: 2n ** 50n }),
      flags: fc.constantFrom(0, 0x08, 0x20),
    })
    .map(({ records, owner: by, nowMs, offset, flags }) => {
      const batch = new RecordBatch();
      for (const each of records) batch.append(each);
      const bytes = Buffer.from(batch.seal(by, nowMs));
      bytes.writeBigInt64BE(offset, AT_OFFSET);
      bytes.writeInt16BE(bytes.readInt16BE(AT_ATTRIBUTES) | flags, AT_ATTRIBUTES);
      bytes.writeBigInt64BE(BigInt(nowMs) + 5n, AT_MAX_TIMESTAMP);
      return bytes;
    });
  /** With the headers, which a fetched record decodes only when asked. */
  const plain = ({ records, ...batch }: { records: readonly Message[] }): object => ({
    ...batch,
    records: records.map((each) => ({ ...each, headers: each.headers })),
  });

  it('is decoded as kafkajs decodes it, and gives each header by its name', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stored, { minLength: 1, maxLength: 3 }),
        fc.nat(40),
        async (batches, cutOff) => {
          const all = Buffer.concat(batches);
          const bytes = all.subarray(0, all.length - cutOff);
          const [ours, theirs] = [new Decoder(bytes), new Decoder(bytes)];
          for (const _ of batches) {
            const expected = await decodeByKafkaJs(theirs).catch((error: Error) => error.name);
            const decoded = await decodePatched(ours).catch((error: Error) => error.name);
            if (typeof decoded === 'string' || typeof expected === 'string') {
              expect(decoded).toEqual(expected);
              return;
            }
            expect(decoded.records.every((each) => each instanceof FetchedRecord)).toBe(true);
            expect(plain(decoded)).toEqual(expected);
            for (const each of decoded.records as unknown as KafkaMessage[]) {
              for (const [name, value] of Object.entries(each.headers ?? {}))
                if (/^[ -~]*$/.test(name)) expect(headerOf(each, name)).toEqual(value);
              expect(headerOf(each, 'no such header')).toBeUndefined();
            }
          }
        },
      ),
    );
  });

  it.each(CODECS)('compressed with $name is decoded as one that is not', async ({ codec, compress }) => {
    await fc.assert(
      fc.asyncProperty(stored, async (bytes) => {
        const decoded = await decodePatched(new Decoder(compressed(bytes, codec, compress)));
        expect(plain(decoded)).toEqual(plain(await decodePatched(new Decoder(bytes))));
      }),
    );
  });

  it.each(CODECS)('that $name would make longer than 100 MiB is refused', async ({ codec, compress }) => {
    const bytes = new RecordBatch();
    bytes.append({ key: 'k', body: Buffer.alloc(1), schemaId: null, headers: {} });
    const sealed = Buffer.from(
      bytes.seal({ producerId: 1n, producerEpoch: 0, firstSequence: 0, isTransactional: true }, 0),
    );
    const long = Buffer.concat([sealed, Buffer.alloc(MAX_DECOMPRESSED_BYTES)]);
    await expect(decodePatched(new Decoder(compressed(long, codec, compress)))).rejects.toMatchObject({
      code: 'KAFKA_REFUSED',
    });
  });
});
