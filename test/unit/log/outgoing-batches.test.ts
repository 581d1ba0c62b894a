import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_BATCH_BYTES,
  createKeyPartitioner,
  recordBytes,
  splitIntoSends,
  type AddressedRecord,
} from '../../../src/log/outgoing-batches.ts';

describe('createKeyPartitioner', () => {
  // These hashes are from Kafka's own test of murmur2 (org.apache.kafka.common.utils.UtilsTest).
  it.each([
    ['21', -973_932_308],
    ['foobar', -790_332_482],
    ['a-little-bit-long-string', -985_981_536],
    ['a-little-bit-longer-string', -1_486_304_829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58_897_971],
    ['abc', 479_470_107],
  ])('the partition of %s is the one that Java computes', (key, murmur2) => {
    const partitionOf = createKeyPartitioner();
    for (const partitions of [1, 3, 7, 12, 1_000]) {
      expect(partitionOf(key, partitions)).toBe((murmur2 & 0x7fffffff) % partitions);
    }
  });

  it('a key has one partition, within the count, whatever its characters', () => {
    const partitionOf = createKeyPartitioner();
    const another = createKeyPartitioner();
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 50 }), (key, partitions) => {
        const partition = partitionOf(key, partitions);
        expect(partition).toBeGreaterThanOrEqual(0);
        expect(partition).toBeLessThan(partitions);
        expect(another(key, partitions)).toBe(partition);
      }),
    );
  });
});

describe('recordBytes', () => {
  it('a record is never estimated smaller than it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.option(fc.uint8Array()),
        fc.string(),
        (key, value, header) => {
          const body = value === null ? null : Buffer.from(value);
          const least =
            Buffer.byteLength(key) + (body?.length ?? 0) + Buffer.byteLength(header) + 'name'.length;
          expect(recordBytes({ key, value: body, headers: { name: header } })).toBeGreaterThan(least);
        },
      ),
    );
  });
});

const records = fc.array(
  fc.record({
    topic: fc.constantFrom('a', 'b'),
    partition: fc.nat(1),
    bytes: fc.integer({ min: 1, max: MAX_BATCH_BYTES + 100_000 }),
  }),
  { maxLength: 40 },
);

describe('splitIntoSends', () => {
  const addressed = (
    all: readonly { topic: string; partition: number; bytes: number }[],
  ): AddressedRecord[] =>
    all.map((record, position) => ({
      ...record,
      message: { key: String(position), value: null, partition: record.partition },
    }));

  it('each record is sent once and after the earlier ones of its partition', () => {
    fc.assert(
      fc.property(records, (all) => {
        const sent = splitIntoSends(addressed(all)).flat();
        for (const topic of ['a', 'b']) {
          for (const partition of [0, 1]) {
            const keys = sent
              .filter((each) => each.topic === topic)
              .flatMap(({ messages }) => messages.filter((message) => message.partition === partition))
              .map(({ key }) => Number(key));
            const expected = all.flatMap((record, position) =>
              record.topic === topic && record.partition === partition ? [position] : [],
            );
            expect(keys).toEqual(expected);
          }
        }
      }),
    );
  });

  it('no batch of a partition is larger than a broker accepts, unless it is a single record', () => {
    fc.assert(
      fc.property(records, (all) => {
        for (const send of splitIntoSends(addressed(all))) {
          const sizes = new Map<string, number[]>();
          for (const { topic, messages } of send) {
            for (const { key, partition } of messages) {
              const name = `${topic}/${partition}`;
              sizes.set(name, [...(sizes.get(name) ?? []), all[Number(key)]?.bytes ?? 0]);
            }
          }
          for (const each of sizes.values()) {
            if (each.length > 1)
              expect(each.reduce((sum, bytes) => sum + bytes)).toBeLessThanOrEqual(MAX_BATCH_BYTES);
          }
        }
      }),
    );
  });

  it('each send names a topic once and is not empty', () => {
    fc.assert(
      fc.property(records, (all) => {
        for (const send of splitIntoSends(addressed(all))) {
          const topics = send.map(({ topic }) => topic);
          expect(new Set(topics).size).toBe(topics.length);
          expect(topics.length).toBeGreaterThan(0);
          for (const { messages } of send) expect(messages.length).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('records that fit into one send are sent in one', () => {
    const small = Array.from({ length: 5_000 }, (_, position) => ({
      topic: 'a',
      partition: position % 3,
      bytes: 320,
    }));
    expect(splitIntoSends(addressed(small))).toHaveLength(1);
  });
});
