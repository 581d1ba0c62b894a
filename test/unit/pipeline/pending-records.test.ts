import { describe, expect, it } from 'vitest';
import { PendingRecords } from '../../../src/pipeline/chains/pending-records.ts';

describe('the records of pending chains', () => {
  it('hold the memory of their own bytes only, not of the larger buffer they were encoded in', () => {
    const encoded = Buffer.from('an encoded version among others').subarray(3, 18);
    const pending = new PendingRecords();
    pending.keep('v1', encoded);
    expect(pending.get('v1')).toEqual(encoded);
    expect(pending.get('v1')?.buffer.byteLength).toBe(encoded.length);
  });

  it('are held up to 64 MB, whatever is kept and dropped before', () => {
    const half = Buffer.alloc(32_000_000);
    const pending = new PendingRecords();
    for (let round = 0; round < 3; round += 1) pending.keep('v1', half);
    pending.keep('v2', half);
    pending.keep('v3', Buffer.from('one more'));
    expect([pending.get('v2')?.length, pending.get('v3')]).toEqual([half.length, undefined]);
    pending.drop('v1');
    pending.keep('v3', half);
    expect(pending.get('v3')?.length).toBe(half.length);
  });
});
