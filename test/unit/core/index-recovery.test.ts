import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasLostRecords, planIndexRecovery } from '../../../src/core/index-recovery.ts';
import type { Progress } from '../../../src/model/progress.ts';

const DAY_MS = 24 * 3_600_000;
const NOW_MS = Date.parse('2026-03-04T03:00:00Z');

const PROGRESS: Progress = {
  collection: 'users',
  sequence: 7,
  transactionId: 'tx-7',
  syncId: 'sync',
  mode: 'INCREMENTAL',
  complete: true,
  startedAtMs: NOW_MS,
  rowsSeen: 0,
  rowsPublished: 0,
  rowsRejected: 0,
  rowsRemoved: 0,
  rowsWithheld: 0,
  totalAtStart: null,
  totalAtEnd: null,
  watermarkMs: NOW_MS,
  offsets: { 'p.t.users/0': 10, 'p.t.users/1': 20, 'p.t.rejects/0': 3 },
  lastCompleteFull: null,
};

const INDEX = { sequence: 7, transactionId: 'tx-7', committedAtMs: NOW_MS, offsets: {} };
const EARLIER = { ...INDEX, sequence: 5, transactionId: 'tx-5' };

function plan(changes: Partial<Parameters<typeof planIndexRecovery>[0]>) {
  return planIndexRecovery({
    progress: PROGRESS,
    index: INDEX,
    transactionIds: new Set(['tx-5', 'tx-7']),
    nowMs: NOW_MS,
    ...changes,
  });
}

function lost(changes: Partial<Parameters<typeof hasLostRecords>[0]>): boolean {
  return hasLostRecords({
    offsets: PROGRESS.offsets,
    nextOffsets: { 'p.t.users/0': 12, 'p.t.users/1': 21, 'p.t.users/2': 0, 'p.t.rejects/0': 4 },
    firstOffsets: { 'p.t.users/0': 0, 'p.t.users/1': 0, 'p.t.users/2': 0, 'p.t.rejects/0': 0 },
    ...changes,
  });
}

describe('the recovery of an index', () => {
  it('an index at the end of the log is current', () => {
    expect(plan({})).toEqual({ kind: 'current' });
  });

  it('an index at an earlier point of this log is resumed', () => {
    expect(plan({ index: EARLIER })).toEqual({ kind: 'resume' });
  });

  it.each([
    ['no index', { index: null }],
    ['a transaction that this log does not know', { index: { ...EARLIER, transactionId: 'elsewhere' } }],
    ['a known transaction with a number that cannot be', { index: { ...EARLIER, sequence: 8 } }],
    ['the same number under another id', { index: { ...INDEX, transactionId: 'tx-5' } }],
    [
      'an index older than the retained removals',
      { index: { ...EARLIER, committedAtMs: NOW_MS - 6 * DAY_MS - 1 } },
    ],
    ['a log without progress', { progress: null }],
  ])('%s leads to a rebuild', (_, changes) => {
    expect(plan(changes)).toMatchObject({ kind: 'rebuild' });
  });

  it('an index younger than the tombstone retention is resumed', () => {
    expect(plan({ index: { ...EARLIER, committedAtMs: NOW_MS - 6 * DAY_MS } })).toEqual({ kind: 'resume' });
  });

  it.each([
    ['recreated', { 'p.t.users/0': 0, 'p.t.users/1': 0, 'p.t.rejects/0': 4 }],
    ['recreated with fewer partitions', { 'p.t.users/0': 12, 'p.t.rejects/0': 4 }],
    ['cut short in one partition', { 'p.t.users/0': 12, 'p.t.users/1': 20, 'p.t.rejects/0': 4 }],
    ['recreated, for the rejects', { 'p.t.users/0': 12, 'p.t.users/1': 21, 'p.t.rejects/0': 0 }],
  ])('a topic that was %s has lost records', (_, nextOffsets) => {
    expect(lost({ nextOffsets })).toBe(true);
  });

  it('a complete topic has lost no records', () => {
    expect(lost({})).toBe(false);
  });

  it('an index from a clock that ran ahead leads to a rebuild', () => {
    const ahead = { ...EARLIER, committedAtMs: NOW_MS + 2 * 3_600_000 };
    expect(plan({ index: ahead })).toMatchObject({ kind: 'rebuild' });
  });

  it('a topic that was emptied has lost records, although its end stays where it was', () => {
    const firstOffsets = { 'p.t.users/0': 11, 'p.t.users/1': 0 };
    expect(lost({ firstOffsets })).toBe(true);
  });

  it('a topic that was cut off at its beginning has lost records, although its newest records are there', () => {
    expect(lost({ firstOffsets: { 'p.t.users/0': 4 } })).toBe(true);
    expect(lost({ firstOffsets: { 'p.t.users/0': 5 }, knownFirstOffsets: { 'p.t.users/0': 4 } })).toBe(true);
  });

  it('a topic that was cut off and refilled has lost no more records', () => {
    const firstOffsets = { 'p.t.users/0': 10, 'p.t.users/1': 20 };
    expect(lost({ firstOffsets, knownFirstOffsets: firstOffsets })).toBe(false);
  });

  it('a partition that was never written to has lost nothing', () => {
    expect(lost({ firstOffsets: { 'p.t.users/2': 7 } })).toBe(false);
  });

  it('an index is current only at the same transaction, and is resumed only at an earlier one of this log', () => {
    const id = fc.constantFrom('tx-5', 'tx-6', 'tx-7', 'other');
    const index = fc.record({
      sequence: fc.nat(9),
      transactionId: id,
      committedAtMs: fc.constantFrom(NOW_MS, NOW_MS - 7 * DAY_MS),
      offsets: fc.constant({}),
    });
    fc.assert(
      fc.property(fc.option(index), fc.array(id), (found, ids) => {
        const { kind } = plan({ index: found, transactionIds: new Set([...ids, 'tx-7']) });
        if (kind === 'current') expect(found?.transactionId).toBe('tx-7');
        if (kind === 'resume') {
          expect(ids).toContain(found?.transactionId);
          expect(found?.sequence).toBeLessThan(7);
        }
      }),
    );
  });
});
