import { describe, expect, it } from 'vitest';
import { tellsOfLoss, type Progress } from '../../../src/model/progress.ts';

function at(offsets: Progress['offsets']): Progress {
  return {
    collection: 'users',
    sequence: 1,
    transactionId: 't',
    passId: 'p',
    mode: 'FULL',
    complete: true,
    startedAtMs: 0,
    rowsSeen: 0,
    rowsPublished: 0,
    rowsRejected: 0,
    rowsRemoved: 0,
    rowsWithheld: 0,
    totalAtStart: null,
    totalAtEnd: null,
    watermarkMs: null,
    offsets,
    lastCompleteFull: null,
  };
}

describe('tellsOfLoss', () => {
  it('a topic that begins anew is not overlooked, whether its offsets are gone or have gone back', () => {
    const before = at({ 'p.t.users/0': 7, 'p.t.users/1': 2 });
    expect(tellsOfLoss(before, at({ 'p.t.users/1': 2 }))).toBe(true);
    expect(tellsOfLoss(before, at({ 'p.t.users/0': 6, 'p.t.users/1': 2 }))).toBe(true);
  });

  it('progress that goes on is taken for no loss', () => {
    const before = at({ 'p.t.users/0': 7 });
    expect(tellsOfLoss(before, before)).toBe(false);
    expect(tellsOfLoss(before, at({ 'p.t.users/0': 9, 'p.t.users/1': 0 }))).toBe(false);
  });
});
