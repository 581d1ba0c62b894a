import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import {
  MAX_BATCH_BYTES,
  asMessages,
  createKeyPartitioner,
  OutgoingBatches,
  type TopicBatches,
} from '../../../src/log/outgoing-batches.ts';
import { RecordBatch } from '../../../src/log/record-batch.ts';

describe('createKeyPartitioner', () => {
  it('a key has the partition that kafkajs would give it, whatever its characters', () => {
    const partitionOf = createKeyPartitioner();
    const key = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ minLength: 200, maxLength: 400 }),
      fc.stringMatching(/^[0-9a-f-]{36}$/u),
    );
    fc.assert(
      fc.property(key, fc.integer({ min: 1, max: 50 }), (each, partitions) => {
        expect(partitionOf(each, partitions)).toBe(partitionByKafkaJs(each, partitions));
      }),
    );
  });
});

function partitionByKafkaJs(key: string, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 0,
    replicas: [],
    isr: [],
  }));
  return Partitioners.DefaultPartitioner()({ topic: '', partitionMetadata, message: { key, value: null } });
}

const records = fc.array(
  fc.record({
    topic: fc.constantFrom('a', 'b'),
    partition: fc.nat(1),
    bytes: fc.oneof(fc.nat(1_000), fc.integer({ min: 1, max: MAX_BATCH_BYTES + 100_000 })),
  }),
  { maxLength: 30 },
);
type Sized = { topic: string; partition: number; bytes: number };

function sendsOf(all: readonly Sized[]): (readonly TopicBatches[])[] {
  const batches = new OutgoingBatches();
  for (const [position, { topic, partition, bytes }] of all.entries()) {
    const body = Buffer.alloc(bytes);
    batches.add(topic, partition, { key: String(position), body, schemaId: 1, headers: {} });
  }
  return [...batches.sends()];
}

/** The records that the batches were made of, by position. */
function expectedIn(all: readonly Sized[], topic: string, partition: number): number[] {
  return all.flatMap((each, at) => (each.topic === topic && each.partition === partition ? [at] : []));
}

describe('OutgoingBatches', () => {
  it('each record is sent once and after the earlier ones of its partition, in batches that a broker accepts', () => {
    fc.assert(
      fc.property(records, (all) => {
        const sends = sendsOf(all);
        for (const send of sends) {
          const topics = send.map(({ topic }) => topic);
          expect([new Set(topics).size, topics.length > 0]).toEqual([topics.length, true]);
          for (const { batches } of send) {
            expect(batches.size).toBeGreaterThan(0);
            for (const batch of batches.values()) {
              expect(batch.length).toBeGreaterThan(0);
              if (batch.length > 1) expect(batch.byteLength).toBeLessThanOrEqual(MAX_BATCH_BYTES);
            }
          }
        }
        for (const [topic, partition] of [
          ['a', 0],
          ['a', 1],
          ['b', 0],
          ['b', 1],
        ] as const) {
          const positions = expectedIn(all, topic, partition);
          for (const send of sends) {
            const batch = send.find((each) => each.topic === topic)?.batches.get(partition);
            if (batch === undefined) continue;
            const alone = new RecordBatch();
            for (const at of positions.splice(0, batch.length)) {
              alone.append({
                key: String(at),
                body: Buffer.alloc(all[at]?.bytes ?? 0),
                schemaId: 1,
                headers: {},
              });
            }
            const owner = { producerId: 1n, producerEpoch: 0, firstSequence: 0, isTransactional: true };
            expect(batch.seal(owner, 0).equals(alone.seal(owner, 0))).toBe(true);
          }
          expect(positions).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('records that fit into one send are sent in one', () => {
    const small = Array.from({ length: 5_000 }, (_, at) => ({ topic: 'a', partition: at % 3, bytes: 320 }));
    expect(sendsOf(small)).toHaveLength(1);
  });
});

describe('asMessages', () => {
  it('kafkajs groups them by partition into the batches themselves', () => {
    const group = createRequire(import.meta.url)('kafkajs/src/producer/groupMessagesPerPartition') as (
      options: object,
    ) => Record<number, unknown>;
    const [send = []] = sendsOf([
      { topic: 'a', partition: 2, bytes: 1 },
      { topic: 'a', partition: 0, bytes: 1 },
    ]);
    const [topic] = send;
    if (topic === undefined) throw new Error('nothing to send');
    const partitionMetadata = [{ partitionId: 0 }, { partitionId: 1 }, { partitionId: 2 }];
    const grouped = group({
      topic: 'a',
      partitionMetadata,
      messages: asMessages(topic),
      partitioner: () => 1,
    });
    expect(grouped).toEqual({ 0: topic.batches.get(0), 2: topic.batches.get(2) });
    expect(topic.batches.get(2)).toHaveLength(1);
  });
});
