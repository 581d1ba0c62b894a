import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { passEmptiedBatches } from '../../../src/log/kafkajs-empty-batches.ts';

interface Message {
  readonly offset: string;
  readonly isControlRecord: boolean;
}

interface FetchedBatch {
  isEmptyDueToFiltering(): boolean;
  lastOffset(): string;
  readonly messages: readonly Message[];
}

passEmptiedBatches();
passEmptiedBatches();
const require = createRequire(import.meta.url);
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
  it('one without any record has a last offset and is not fetched again', async () => {
    const batch = await fetched(10, batchBytes({ baseOffset: 10, lastDelta: 4, deltas: [] }));
    expect(batch.isEmptyDueToFiltering()).toBe(true);
    expect(batch.lastOffset()).toBe('14');
    expect(batch.messages).toEqual([]);
  });

  it('one without its last records is passed in one step', async () => {
    const batch = await fetched(10, batchBytes({ baseOffset: 10, lastDelta: 4, deltas: [0, 1] }));
    expect(batch.messages.map(({ offset }) => offset)).toEqual(['10', '11']);
    expect(batch.lastOffset()).toBe('14');
  });

  it('a complete one stays as it is', async () => {
    const messages = await decode(batchBytes({ baseOffset: 10, lastDelta: 1, deltas: [0, 1] }));
    expect(messages.map(({ offset, isControlRecord }) => [offset, isControlRecord])).toEqual([
      ['10', false],
      ['11', false],
    ]);
  });

  it('records after an empty one are read', async () => {
    const batch = await fetched(
      10,
      batchBytes({ baseOffset: 10, lastDelta: 4, deltas: [] }),
      batchBytes({ baseOffset: 15, lastDelta: 0, deltas: [0] }),
    );
    expect(batch.messages.map(({ offset }) => offset)).toEqual(['15']);
  });
});
