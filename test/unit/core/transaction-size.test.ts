import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { TransactionSize } from '../../../src/core/transaction-size.ts';
import { forAll } from '../support/for-all.ts';

const TIMEOUT_MS = 60_000;
const PAGE_ROWS = 1_000;

/** Notes transactions that hold as much as they may: each is committed once it is full, after a page or a part of one. */
function commit(size: TransactionSize, times: number, msOf: (rows: number) => number): number[] {
  return Array.from({ length: times }, () => {
    const atOnce = Math.min(PAGE_ROWS, size.rowsAtOnce);
    const rows = Math.ceil(size.rows / atOnce) * atOnce;
    size.note(rows, msOf(rows));
    return msOf(rows);
  });
}

it('transactions exceed their time-out at most once while Kafka has a steady rate', () => {
  forAll([fc.double({ min: 0.5, max: 100_000, noNaN: true })], (rowsPerSecond) => {
    const took = commit(new TransactionSize(), 60, (rows) => (rows / rowsPerSecond) * 1_000);
    expect(took.slice(1).filter((ms) => ms > TIMEOUT_MS)).toEqual([]);
  });
});

it('transactions grow to 2,000 rows while Kafka is fast, but not because of empty or small ones', () => {
  const size = new TransactionSize();
  size.note(0, 90_000);
  size.note(10, 20);
  expect(size.rows).toBe(1_000);
  commit(size, 3, () => 20);
  expect([size.rows, size.rowsAtOnce]).toEqual([2_000, Infinity]);
  size.note(3, 90_000);
  expect(size.rows).toBe(1);
  commit(size, 13, () => 20);
  expect(size.rows).toBe(2_000);
});
