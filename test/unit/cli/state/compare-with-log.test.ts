import { describe, expect, it } from 'vitest';
import { indexAgainstLog } from '../../../../src/cli/state/compare-with-log.ts';
import type { Progress } from '../../../../src/model/progress.ts';

const progress = { sequence: 9, transactionId: 't9' } as Progress;
const position = { sequence: 7, transactionId: 't7', committedAtMs: 0, offsets: {} };
const rebuild = {
  kind: 'rebuild',
  why: 'the index is not a known point of this log',
  dataLost: false,
} as const;

describe('an index compared with its log', () => {
  it('is unknown where the log could not be read', () => {
    const state = indexAgainstLog({ progress: null, position, plan: { kind: 'current' }, isLogKnown: false });
    expect(state).toEqual({ kind: 'unknown', text: 'unknown' });
  });

  it.each([
    ['equal', { progress, position, plan: { kind: 'current' } as const }, 'equal'],
    ['behind', { progress, position, plan: { kind: 'resume' } as const }, '2 transactions behind'],
    [
      'rebuild',
      { progress, position, plan: rebuild },
      'to be rebuilt: the index is not a known point of this log',
    ],
    [
      'rebuild',
      { progress: null, position, plan: rebuild },
      'to be rebuilt: the index is not a known point of this log',
    ],
    ['empty', { progress: null, position: null, plan: rebuild }, 'nothing yet'],
    ['empty', { progress: null, position: { ...position, sequence: 0 }, plan: rebuild }, 'nothing yet'],
  ])('is %s where its position says so', (kind, given, text) => {
    expect(indexAgainstLog({ ...given, isLogKnown: true })).toEqual({ kind, text });
  });
});
