import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasLostRecords, planIndexRecovery } from '../../../src/core/index-recovery.ts';
import { madeProgress } from './support/progress.ts';

const DAY_MS = 24 * 3_600_000;
const NOW_MS = Date.parse('2026-03-04T03:00:00Z');

const OFFSETS = { 'p.t.users/0': 10, 'p.t.users/1': 20, 'p.t.rejects/0': 3 };
const PROGRESS = madeProgress({ sequence: 7, transactionId: 'tx-7', offsets: OFFSETS });

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
    offsets: OFFSETS,
    nextOffsets: { 'p.t.users/0': 12, 'p.t.users/1': 21, 'p.t.users/2': 0, 'p.t.rejects/0': 4 },
    firstOffsets: { 'p.t.users/0': 0, 'p.t.users/1': 0, 'p.t.users/2': 0, 'p.t.rejects/0': 0 },
    ...changes,
  });
}

describe('the recovery of an index', () => {
  it('an index at the end of the log is current, one at an earlier point is resumed, within the retention of tombstones', () => {
    expect(plan({})).toEqual({ kind: 'current' });
    const oldest = { ...EARLIER, committedAtMs: NOW_MS - 6 * DAY_MS };
    for (const index of [EARLIER, oldest]) expect(plan({ index })).toEqual({ kind: 'resume' });
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
    [
      'an index from a clock that ran ahead',
      { index: { ...EARLIER, committedAtMs: NOW_MS + 2 * 3_600_000 } },
    ],
    ['a log without progress', { progress: null }],
  ])('%s leads to a rebuild', (_, changes) => {
    expect(plan(changes)).toMatchObject({ kind: 'rebuild' });
  });

  it.each([
    ['recreated', { 'p.t.users/0': 0, 'p.t.users/1': 0, 'p.t.rejects/0': 4 }],
    ['recreated with fewer partitions', { 'p.t.users/0': 12, 'p.t.rejects/0': 4 }],
    ['cut short in one partition', { 'p.t.users/0': 12, 'p.t.users/1': 20, 'p.t.rejects/0': 4 }],
    ['recreated, for the rejects', { 'p.t.users/0': 12, 'p.t.users/1': 21, 'p.t.rejects/0': 0 }],
  ])('a topic that was %s has lost records, a complete one has not', (_, nextOffsets) => {
    expect([lost({ nextOffsets }), lost({})]).toEqual([true, false]);
  });

  it.each([
    [true, 'emptied, although its end stays where it was', { 'p.t.users/0': 11, 'p.t.users/1': 0 }, {}],
    [true, 'cut off at its beginning, although its newest are there', { 'p.t.users/0': 4 }, {}],
    [true, 'cut off once more', { 'p.t.users/0': 5 }, { 'p.t.users/0': 4 }],
    [false, 'refilled after it was cut off', { 'p.t.users/0': 10 }, { 'p.t.users/0': 10 }],
    [false, 'never written to', { 'p.t.users/2': 7 }, {}],
  ])(
    'whether records are lost is %s for a partition that was %s',
    (is, _, firstOffsets, knownFirstOffsets) => {
      expect(lost({ firstOffsets, knownFirstOffsets })).toBe(is);
    },
  );

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
