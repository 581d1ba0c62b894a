import * as fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { expect, it } from 'vitest';
import { MAX_BATCH_BYTES, OutgoingBatches, partitionOf } from '../../../src/log/outgoing-batches.ts';
import { RecordBatch } from '../../../src/log/wire/record-batch.ts';
import { forAll, forMany } from '../support/for-all.ts';

it('a key has the partition that kafkajs would give it, whatever its characters', () => {
  const byKafkaJs = Partitioners.DefaultPartitioner();
  const key = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 200, maxLength: 400 }));
  forAll([key, fc.integer({ min: 1, max: 50 })], (each, partitions) => {
    const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => {
      return { partitionErrorCode: 0, partitionId, leader: 0, replicas: [], isr: [] };
    });
    const message = { key: each, value: null };
    expect(partitionOf(each, partitions)).toBe(byKafkaJs({ topic: '', partitionMetadata, message }));
  });
});

interface Sized {
  readonly topic: string;
  readonly partition: number;
  readonly bytes: number;
}

const recordOf = (bytes: number, at: number) => {
  return { key: String(at), body: Buffer.alloc(bytes), schemaId: 1, headers: {} };
};

function sendsOf(all: readonly Sized[]) {
  const batches = new OutgoingBatches();
  for (const [at, { topic, partition, bytes }] of all.entries())
    batches.add(topic, partition, recordOf(bytes, at));
  return [...batches.sends()];
}

it('each record is sent once and after the earlier ones of its partition, in accepted batches', () => {
  const sized = fc.record({
    topic: fc.constantFrom('a', 'b'),
    partition: fc.nat(1),
    bytes: fc.oneof(fc.nat(1_000), fc.integer({ min: 1, max: MAX_BATCH_BYTES + 100_000 })),
  });
  const owner = { producerId: 1n, producerEpoch: 0, firstSequence: 0 };
  forMany(60, [fc.array(sized, { maxLength: 30 })], (all) => {
    const left = new Map<string, { bytes: number; at: number }[]>();
    for (const [at, { topic, partition, bytes }] of all.entries())
      left.set(topic + partition, [...(left.get(topic + partition) ?? []), { bytes, at }]);
    for (const send of sendsOf(all)) {
      expect(send.length).toBeGreaterThan(0);
      const partitions = new Set(send.map(({ topic, partition }) => topic + partition));
      expect(partitions.size).toBe(send.length);
      for (const { topic, partition, batch } of send) {
        expect(batch.length).toBeGreaterThan(0);
        if (batch.length > 1) expect(batch.byteLength).toBeLessThanOrEqual(MAX_BATCH_BYTES);
        const alone = new RecordBatch();
        const next = left.get(topic + partition)?.splice(0, batch.length) ?? [];
        for (const { bytes, at } of next) alone.append(recordOf(bytes, at));
        expect(batch.seal(owner, 0).equals(alone.seal(owner, 0))).toBe(true);
      }
    }
    expect([...left.values()].flat()).toEqual([]);
  });
});

it('records that fit into one send are sent in one', () => {
  const small = Array.from({ length: 5_000 }, (_, at) => ({ topic: 'a', partition: at % 3, bytes: 320 }));
  expect(sendsOf(small)).toHaveLength(1);
});
