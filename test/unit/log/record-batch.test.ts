import { createRequire } from 'node:module';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import lz4 from 'lz4js';
import snappy from 'snappyjs';
import { expect, it, vi } from 'vitest';
import { FetchedRecord, MAX_DECOMPRESSED_BYTES } from '../../../src/log/wire/fetched-batch.ts';
import { frame } from './support/frame.ts';
import { patchKafkaJs } from '../../../src/log/wire/kafkajs-patches.ts';
import { encodeProduceRequest } from '../../../src/log/wire/produce-request.ts';
import { maxRecordBytes, RecordBatch, type BatchRecord } from '../../../src/log/wire/record-batch.ts';
import { forAll } from '../support/for-all.ts';

type Message = Pick<
  FetchedRecord,
  'headers' | 'offset' | 'timestamp' | 'key' | 'value' | 'isControlRecord' | 'batchContext'
>;
interface FetchedBatch {
  isEmptyDueToFiltering(): boolean;
  lastOffset(): string;
  readonly messages: readonly Message[];
}
/** What kafkajs sends: a request after its head and length. */
interface Sent {
  readonly buffer: Buffer;
  size(): number;
}
type Request = (options: object) => { encode: () => Promise<{ buffer: Buffer }>; apiVersion: number };
type DecodeBatch = (decoder: object) => Promise<{ records: readonly Message[] }>;

const inKafkaJs = createRequire(import.meta.url);
const DECODER = inKafkaJs.resolve('kafkajs/src/protocol/recordBatch/v0/decoder');
patchKafkaJs();
patchKafkaJs();
const decodePatched = inKafkaJs(DECODER) as DecodeBatch;
const decodeByKafkaJs = unpatched(DECODER) as DecodeBatch;
const Decoder = inKafkaJs('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
const decodeMessages = inKafkaJs('kafkajs/src/protocol/requests/fetch/v4/decodeMessages') as (
  decoder: object,
) => Promise<Message[]>;
const Batch = inKafkaJs('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  data: object,
) => FetchedBatch;
const createRequest = inKafkaJs('kafkajs/src/protocol/request') as (options: object) => Promise<Sent>;

/** What a module of kafkajs exports by itself: files of one worker share their modules, and an earlier file may have patched it. */
function unpatched(path: string): unknown {
  const patched = inKafkaJs.cache[path];
  delete inKafkaJs.cache[path];
  const exports: unknown = inKafkaJs(path);
  inKafkaJs.cache[path] = patched;
  return exports;
}

const NOW_MS = 1_763_856_000_123;
const PRODUCER = { producerId: 4_611_686_018_427_387_904n, producerEpoch: 7 };
const OWNER = { ...PRODUCER, firstSequence: 0 };

/** kafkajs takes a name that every object inherits (`valueOf`) for a header that came before. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.string({ unit: 'grapheme-ascii', maxLength: 200 }),
    fc.constantFrom('ce_id', 'ce_type', '1'),
  )
  .filter((name) => !(name in {}));
const sizes = fc.oneof(
  { weight: 5, arbitrary: fc.nat(200) },
  fc.constantFrom(0, 57, 58, 8_000, 8_180, 8_192, 70_000),
);
const record: fc.Arbitrary<BatchRecord> = fc.record({
  key: text,
  body: fc.option(sizes.map((size) => Buffer.alloc(size, size))),
  schemaId: fc.option(fc.nat()),
  headers: fc.dictionary(text, text, { maxKeys: 9 }),
});
const records = (maxLength: number) => fc.array(record, { minLength: 1, maxLength });

function batchOf(all: readonly BatchRecord[]): RecordBatch {
  const batch = new RecordBatch();
  for (const each of all) batch.append(each);
  return batch;
}

it('a record batch leaves its memory to a later batch, which holds nothing of it', () => {
  forAll([records(30), records(30)], (earlier, later) => {
    const alone = Buffer.from(batchOf(later).seal(OWNER, NOW_MS));
    const sent = batchOf(earlier);
    const { buffer } = sent.seal(OWNER, NOW_MS);
    sent.release();
    const next = new RecordBatch();
    expect(next.seal(OWNER, NOW_MS).buffer).toBe(buffer);
    for (const each of later) next.append(each);
    expect(next.seal(OWNER, NOW_MS).equals(alone)).toBe(true);
  });
});

it('a record batch keeps the memory of eight batches at most, and none of a batch of one large record', () => {
  const large = { key: 'a', body: Buffer.alloc(5_000_000), schemaId: null, headers: {} };
  for (const [all, kept] of [
    [[large], 0],
    [[], 8],
  ] as const) {
    const batches = Array.from({ length: 30 }, () => batchOf(all));
    const memory = new Set(batches.map((batch) => batch.seal(OWNER, NOW_MS).buffer));
    for (const batch of batches) batch.release();
    const later = Array.from({ length: 30 }, () => new RecordBatch().seal(OWNER, NOW_MS).buffer);
    expect(later.filter((buffer) => memory.has(buffer))).toHaveLength(kept);
  }
});

const namedFrom = (letter: string) =>
  fc.dictionary(
    text.map((name) => letter + name),
    text,
    { maxKeys: 5 },
  );

it('a record batch puts the headers that all records share before those of each record', () => {
  forAll([record, namedFrom('a'), namedFrom('b')], (each, sharedHeaders, headers) => {
    const shared = { ...each, headers, sharedHeaders };
    const alone = { ...each, headers: { ...sharedHeaders, ...headers } };
    // the second one has bytes that were made for the first
    const [one, other] = [shared, alone].map((both) => batchOf([both, both]).seal(OWNER, NOW_MS));
    expect(one).toEqual(other);
  });
});

it('a record batch has no record that is larger than its bound', () => {
  forAll([record, namedFrom('a')], (own, sharedHeaders) => {
    const each = { ...own, sharedHeaders };
    const { byteLength } = new RecordBatch();
    const bound = maxRecordBytes(each);
    expect(batchOf([each]).byteLength - byteLength).toBeLessThanOrEqual(bound);
  });
});

const sentFor = (request: object) => createRequest({ correlationId: 7, clientId: 'rollcall', request });
const messageOf = ({ key, body, schemaId, headers }: BatchRecord): object => {
  const value = body === null || schemaId === null ? body : frame(schemaId, body);
  return { key, value, headers, timestamp: NOW_MS };
};
const TOPICS = ['rollcall.north.users', 'rollcall.north.rejects'];
const TRANSACTIONAL_ID = 'rollcall.north';
const TIMEOUT_MS = 30_000;
const sequenceOf = (partition: number) => partition * 3;

function produceOfKafkaJs(version: number, all: BatchRecord[][]) {
  const partitions = all.map((some, partition) => ({
    partition,
    firstSequence: sequenceOf(partition),
    messages: some.map(messageOf),
  }));
  return (inKafkaJs(`kafkajs/src/protocol/requests/produce/v${version}/request`) as Request)({
    acks: -1,
    timeout: TIMEOUT_MS,
    transactionalId: TRANSACTIONAL_ID,
    producerId: String(PRODUCER.producerId),
    producerEpoch: PRODUCER.producerEpoch,
    topicData: TOPICS.map((topic) => ({ topic, partitions })),
  });
}

function produce(all: BatchRecord[][]) {
  const batches = TOPICS.flatMap((topic) =>
    all.map((some, partition) => {
      const bytes = batchOf(some).seal({ ...OWNER, firstSequence: sequenceOf(partition) }, NOW_MS);
      return { topic, partition, bytes };
    }),
  );
  const producer = { ...PRODUCER, transactionalId: TRANSACTIONAL_ID };
  return encodeProduceRequest({ producer, batches, timeoutMs: TIMEOUT_MS });
}

it.each([3, 5, 7])('a produce request of version %s is byte for byte that of kafkajs', async (version) => {
  using _now = vi.spyOn(Date, 'now').mockReturnValue(NOW_MS);
  await fc.assert(
    fc.asyncProperty(fc.array(records(70), { minLength: 1, maxLength: 2 }), async (all) => {
      const theirs = produceOfKafkaJs(version, all);
      const ours = { ...theirs, encode: () => Promise.resolve(produce(all)) };
      const [sent, wanted] = await Promise.all([sentFor(ours), sentFor(theirs)]);
      expect([sent.size(), sent.buffer.equals(wanted.buffer)]).toEqual([wanted.size(), true]);
      // kafkajs asks for the bytes to log their number, and again to send them.
      expect(sent.buffer.buffer).toBe(sent.buffer.buffer);
      expect(sent.buffer.equals(wanted.buffer)).toBe(true);
    }),
    { numRuns: 15 },
  );
});

const AT_OFFSET = 0;
const AT_ATTRIBUTES = 21;
const AT_LAST_DELTA = 23;
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

type Compress = (bytes: Buffer<ArrayBuffer>) => Buffer;
const CODECS: readonly (readonly [string, number, Compress])[] = [
  ['gzip', 1, gzipSync],
  ['snappy', 2, compressSnappy],
  ['lz4', 3, (bytes) => Buffer.from(lz4.compress(bytes))],
  ['zstd', 4, zstdCompressSync],
];

/** The batch as a broker stores it in a topic with this codec. */
function compressed(bytes: Buffer, codec: number, compress: Compress): Buffer {
  const batch = Buffer.concat([bytes.subarray(0, 61), compress(Buffer.from(bytes.subarray(61)))]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt16BE(batch.readInt16BE(AT_ATTRIBUTES) | codec, AT_ATTRIBUTES);
  return batch;
}

const NOT_TRANSACTIONAL = 0x10;

/** A batch as a broker stores it: with an offset, maybe with its own time, as a control batch, or outside a transaction. */
const stored = fc
  .record({
    all: records(70),
    producerId: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    producerEpoch: fc.nat(0x7fff),
    firstSequence: fc.nat(),
    nowMs: fc.nat({ max: 2 ** 42 }),
    offset: fc.bigInt({ min: 0n, max: 2n ** 50n }),
    flags: fc.constantFrom(0, 0x08, NOT_TRANSACTIONAL, 0x20),
  })
  .map(({ all, nowMs, offset, flags, ...owner }) => {
    const bytes = Buffer.from(batchOf(all).seal(owner, nowMs));
    bytes.writeBigInt64BE(offset, AT_OFFSET);
    bytes.writeInt16BE(bytes.readInt16BE(AT_ATTRIBUTES) ^ flags, AT_ATTRIBUTES);
    bytes.writeBigInt64BE(BigInt(nowMs) + 5n, AT_MAX_TIMESTAMP);
    return bytes;
  });

/** What is read of its records. */
const plain = ({ records: all }: { records: readonly Message[] }): object[] =>
  all.map(({ headers, offset, timestamp, key, value, isControlRecord, batchContext }) => {
    const { producerId, inTransaction } = batchContext;
    return { headers, offset, timestamp, key, value, isControlRecord, producerId, inTransaction };
  });

it('a fetched batch is decoded as kafkajs decodes it, with the headers of its records by name', async () => {
  const batches = fc.array(stored, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(40), async (all, cutOff) => {
      const bytes = Buffer.concat(all);
      const some = bytes.subarray(0, bytes.length - cutOff);
      const [ours, theirs] = [new Decoder(some), new Decoder(some)];
      for (const _ of all) {
        const expected = await decodeByKafkaJs(theirs).catch((error: Error) => error.name);
        const decoded = await decodePatched(ours).catch((error: Error) => error.name);
        if (typeof decoded === 'string' || typeof expected === 'string') {
          expect(decoded).toEqual(expected);
          return;
        }
        expect(decoded.records.every((each) => each instanceof FetchedRecord)).toBe(true);
        expect(plain(decoded)).toEqual(plain(expected));
        for (const each of decoded.records as readonly FetchedRecord[]) {
          for (const [name, value] of Object.entries(each.headers))
            if (/^[ -~]*$/.test(name)) expect(each.header(name)).toEqual(value);
          expect(each.header('no such header')).toBeUndefined();
        }
      }
    }),
  );
});

it.each(CODECS)(
  'a fetched batch compressed with %s is decoded like any other',
  async (_, codec, compress) => {
    await fc.assert(
      fc.asyncProperty(stored, async (bytes) => {
        const decoded = await decodePatched(new Decoder(compressed(bytes, codec, compress)));
        expect(plain(decoded)).toEqual(plain(await decodePatched(new Decoder(bytes))));
      }),
      { numRuns: 40 },
    );
  },
);

it.each(CODECS)('a batch that %s makes longer than 100 MiB is unreadable', async (_, codec, compress) => {
  const one = batchOf([{ key: 'k', body: null, schemaId: null, headers: {} }]).seal(OWNER, 0);
  const long = Buffer.concat([one, Buffer.alloc(MAX_DECOMPRESSED_BYTES)]);
  const decoded = await decodePatched(new Decoder(compressed(long, codec, compress)));
  expect(decoded.records).toMatchObject([{ isControlRecord: true, batchContext: { isUnreadable: true } }]);
});

/** A batch at offset 10, of which compaction has left the first records. */
function thinnedOut(left: number, lastDelta: number, offset = 10n): Buffer {
  const key = { key: 'k', body: null, schemaId: null, headers: {} };
  const bytes = Buffer.from(batchOf(Array.from({ length: left }, () => key)).seal(OWNER, 0));
  bytes.writeBigInt64BE(offset, AT_OFFSET);
  bytes.writeInt32BE(lastDelta, AT_LAST_DELTA);
  return bytes;
}

it.each([
  ['without any record is passed, and not fetched again', [thinnedOut(0, 4)], [], '14'],
  ['without its last records is passed in one step', [thinnedOut(2, 4)], ['10', '11'], '14'],
  ['that is empty lets the next one be read', [thinnedOut(0, 4), thinnedOut(1, 0, 15n)], ['15'], '15'],
  ['that is complete stays as it is', [thinnedOut(2, 1)], ['10', '11'], '11'],
])('a fetched batch %s', async (_, batches, offsets, last) => {
  const size = Buffer.alloc(4);
  size.writeInt32BE(Buffer.concat(batches).length);
  const messages = await decodeMessages(new Decoder(Buffer.concat([size, ...batches])));
  const batch = new Batch('topic', '10', { partition: 0, highWatermark: '100', messages });
  expect(batch.isEmptyDueToFiltering()).toBe(offsets.length === 0);
  expect(batch.messages.map(({ offset }) => offset)).toEqual(offsets);
  expect(batch.messages.some(({ isControlRecord }) => isControlRecord)).toBe(false);
  expect(batch.lastOffset()).toBe(last);
});
