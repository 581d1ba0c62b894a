import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { frame } from '../../../src/log/framing.ts';
import { patchKafkaJs } from '../../../src/log/kafkajs-patches.ts';
import { maxRecordBytes, RecordBatch, type BatchRecord } from '../../../src/log/record-batch.ts';

type Request = (options: object) => { encode: () => Promise<{ buffer: Buffer }>; apiVersion: number };

/** What kafkajs sends: a request after its head and length. */
interface Sent {
  readonly buffer: Buffer;
  size(): number;
}

const require = createRequire(import.meta.url);
const V3 = 'kafkajs/src/protocol/requests/produce/v3/request';
const encodeByKafkaJs = require(V3) as Request;
const createRequest = require('kafkajs/src/protocol/request') as (options: object) => Promise<Sent>;
const NOW_MS = 1_763_856_000_123;
const RECORD_OWNER = {
  transactionalId: 'rollcall.north',
  producerId: '4611686018427387904',
  producerEpoch: 7,
};
const BATCH_OWNER = { producerId: 4_611_686_018_427_387_904n, producerEpoch: 7, isTransactional: true };

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 200 }),
  fc.stringMatching(/^[0-9a-f-]{36}$/u),
);
const sizes = fc.oneof(fc.nat(200), fc.constantFrom(0, 57, 58, 8_000, 8_180, 8_192, 70_000));
const record: fc.Arbitrary<BatchRecord> = fc.record({
  key: text,
  body: fc.option(sizes.map((size) => Buffer.alloc(size, size))),
  schemaId: fc.option(fc.nat()),
  headers: fc.dictionary(text, text, { maxKeys: 9 }),
});

function batchOf(records: readonly BatchRecord[]): RecordBatch {
  const batch = new RecordBatch();
  for (const each of records) batch.append(each);
  return batch;
}

function messageOf({ key, body, schemaId, headers }: BatchRecord): object {
  const value = body === null || schemaId === null ? body : frame(schemaId, body);
  return { key, value, headers, timestamp: NOW_MS };
}

describe('RecordBatch', () => {
  it('is byte for byte what kafkajs encodes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 130 }),
        fc.nat(),
        async (records, first) => {
          const partition = { partition: 0, firstSequence: first, messages: records.map(messageOf) };
          const topicData = [{ topic: 't', partitions: [partition] }];
          const { buffer } = await encodeByKafkaJs({
            acks: -1,
            timeout: 5,
            ...RECORD_OWNER,
            topicData,
          }).encode();
          const sealed = batchOf(records).seal({ ...BATCH_OWNER, firstSequence: first }, NOW_MS);
          expect(sealed.equals(buffer.subarray(buffer.length - sealed.length))).toBe(true);
        },
      ),
    );
  });

  it('holds what was appended before and after it was sealed', () => {
    const [first, second] = [
      { key: 'a', body: Buffer.from('1'), schemaId: 1, headers: {} },
      { key: 'b', body: null, schemaId: 1, headers: { ce_id: 'x' } },
    ];
    const batch = batchOf([first]);
    batch.seal({ ...BATCH_OWNER, firstSequence: 0 }, NOW_MS - 1);
    batch.append(second);
    const owner = { ...BATCH_OWNER, firstSequence: 4 };
    expect(batch.seal(owner, NOW_MS)).toEqual(batchOf([first, second]).seal(owner, NOW_MS));
    expect(batch).toHaveLength(2);
  });

  it('leaves its memory to a later batch, which holds nothing of it', () => {
    const owner = { ...BATCH_OWNER, firstSequence: 0 };
    const records = fc.array(record, { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(records, records, (earlier, later) => {
        const alone = Buffer.from(batchOf(later).seal(owner, NOW_MS));
        const sent = batchOf(earlier);
        const { buffer } = sent.seal(owner, NOW_MS);
        sent.release();
        const next = new RecordBatch();
        expect(next.seal(owner, NOW_MS).buffer).toBe(buffer);
        for (const each of later) next.append(each);
        expect(next.seal(owner, NOW_MS).equals(alone)).toBe(true);
      }),
    );
  });

  it('keeps the memory of a few batches at most, and none of a batch of one large record', () => {
    const owner = { ...BATCH_OWNER, firstSequence: 0 };
    const large = { key: 'a', body: Buffer.alloc(5_000_000), schemaId: null, headers: {} };
    const batches = Array.from({ length: 30 }, () => batchOf([large]));
    const memory = new Set(batches.map((batch) => batch.seal(owner, NOW_MS).buffer));
    for (const batch of batches) batch.release();
    expect(memory.has(new RecordBatch().seal(owner, NOW_MS).buffer)).toBe(false);
    const small = Array.from({ length: 30 }, () => new RecordBatch());
    const released = new Set(small.map((batch) => batch.seal(owner, NOW_MS).buffer));
    for (const batch of small) batch.release();
    const later = Array.from({ length: 30 }, () => new RecordBatch().seal(owner, NOW_MS).buffer);
    expect(later.filter((buffer) => released.has(buffer))).toHaveLength(8);
  });

  it('a record is never larger than its bound', () => {
    fc.assert(
      fc.property(record, (each) => {
        const { byteLength } = new RecordBatch();
        const bound = maxRecordBytes(each.key, each.body, each.headers);
        expect(batchOf([each]).byteLength - byteLength).toBeLessThanOrEqual(bound);
      }),
    );
  });
});

function sentFor(request: object): Promise<Sent> {
  return createRequest({ correlationId: 7, clientId: 'rollcall', request });
}

describe('sendEncodedBatches', () => {
  beforeAll(patchKafkaJs);

  const request = (topicData: object, version: number): ReturnType<Request> =>
    (require(`kafkajs/src/protocol/requests/produce/v${version}/request`) as Request)({
      acks: -1,
      timeout: 30_000,
      ...RECORD_OWNER,
      topicData,
    });
  const topicsOf = (
    toMessages: (records: readonly BatchRecord[]) => unknown,
    all: BatchRecord[][],
  ): object[] =>
    ['rollcall.north.users', 'rollcall.north.rejects'].map((topic) => ({
      topic,
      partitions: all.map((records, partition) => ({
        partition,
        firstSequence: partition * 3,
        messages: toMessages(records),
      })),
    }));

  it.each([3, 5, 7])(
    'version %s of a request with encoded batches is the one with the messages',
    async (version) => {
      const now = Date.now;
      Date.now = () => NOW_MS;
      try {
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.array(record, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
            async (all) => {
              const ours = request(topicsOf(batchOf, all), version);
              const theirs = request(
                topicsOf((records) => records.map(messageOf), all),
                version,
              );
              expect(ours.apiVersion).toBe(version);
              expect((await ours.encode()).buffer.equals((await theirs.encode()).buffer)).toBe(true);
              const [sent, wanted] = await Promise.all([sentFor(ours), sentFor(theirs)]);
              expect(sent.size()).toBe(wanted.size());
              expect(sent.buffer.equals(wanted.buffer)).toBe(true);
              // kafkajs asks for the bytes to log their number, and again to send them.
              expect(sent.buffer.buffer).toBe(sent.buffer.buffer);
              expect(sent.buffer.equals(wanted.buffer)).toBe(true);
            },
          ),
          { numRuns: 30 },
        );
      } finally {
        Date.now = now;
      }
    },
  );

  it('a request of kafkajs with head and length has the length that it says, whatever it holds', async () => {
    const metadata = (require('kafkajs/src/protocol/requests/metadata/v5/request') as Request)({
      topics: ['rollcall.north.users'],
    });
    const { buffer } = await sentFor(metadata);
    expect(buffer.readInt32BE()).toBe(buffer.length - 4);
    expect(buffer.includes('rollcall.north.users')).toBe(true);
  });
});
