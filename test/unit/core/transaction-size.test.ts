import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TransactionSize } from '../../../src/core/transaction-size.ts';

const TIMEOUT_MS = 60_000;
const PAGE_ROWS = 1_000;

/** What a transaction holds at most: it is committed once it is full, after a page or a part of one. */
function most(size: TransactionSize): number {
  const atOnce = Math.min(PAGE_ROWS, size.rowsAtOnce);
  return Math.ceil(size.rows / atOnce) * atOnce;
}

describe('the size of transactions', () => {
  it('at a steady rate outlives the time-out of a transaction at most once', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.5, max: 100_000, noNaN: true }), (rowsPerSecond) => {
        const size = new TransactionSize();
        const took = Array.from({ length: 60 }, () => {
          const rows = most(size);
          const tookMs = (rows / rowsPerSecond) * 1_000;
          size.note(rows, tookMs);
          return tookMs;
        });
        expect(took.slice(1).filter((ms) => ms > TIMEOUT_MS)).toEqual([]);
      }),
    );
  });

  it('grows to 2,000 rows where Kafka is fast, and recovers after an outage', () => {
    const size = new TransactionSize();
    for (let transaction = 0; transaction < 3; transaction += 1) size.note(most(size), 20);
    expect([size.rows, size.rowsAtOnce]).toEqual([2_000, Infinity]);
    size.note(3, 90_000);
    expect(size.rows).toBe(1);
    for (let transaction = 0; transaction < 13; transaction += 1) size.note(most(size), 20);
    expect(size.rows).toBe(2_000);
  });

  it('does not follow transactions without rows, or much smaller ones', () => {
    const size = new TransactionSize();
    size.note(0, 90_000);
    size.note(10, 20);
    expect(size.rows).toBe(1_000);
  });
});
