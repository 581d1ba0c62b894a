import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../../src/log/record-batch.ts';

const byKafkaJs = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/crc32C') as (
  bytes: Uint8Array,
) => number;

describe('crc32c', () => {
  // RFC 3720, B.4
  it.each([
    ['32 zeroes', Buffer.alloc(32), 0x8a9136aa],
    ['32 ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
    ['32 ascending bytes', Buffer.from(Array.from({ length: 32 }, (_, at) => at)), 0x46dd794e],
    ['32 descending bytes', Buffer.from(Array.from({ length: 32 }, (_, at) => 31 - at)), 0x113fdb5c],
  ])('of %s is what the RFC says', (_name, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
  });

  it('of any bytes, at any place in memory, is what kafkajs computes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(9), (bytes, skipped) => {
        const part = bytes.subarray(skipped);
        expect(crc32c(part)).toBe(byKafkaJs(part) >>> 0);
      }),
    );
  });
});
