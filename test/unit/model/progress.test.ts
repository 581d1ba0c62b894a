import { describe, expect, it } from 'vitest';
import { outdatesIndex, type Progress } from '../../../src/model/progress.ts';

function at(offsets: Progress['offsets']): Progress {
  return {
    collection: 'users',
    sequence: 1,
    transactionId: 't',
    syncId: 'p',
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

describe('progress and its index', () => {
  it('a topic that starts again outdates an index, whether its offsets are missing or went back', () => {
    const before = at({ 'p.t.users/0': 7, 'p.t.users/1': 2 });
    expect(outdatesIndex(before, at({ 'p.t.users/1': 2 }))).toBe(true);
    expect(outdatesIndex(before, at({ 'p.t.users/0': 6, 'p.t.users/1': 2 }))).toBe(true);
  });

  it('a changed mapping outdates an index, in either direction', () => {
    const before = at({});
    expect(outdatesIndex(before, { ...before, mapping: 'one' })).toBe(true);
    expect(outdatesIndex({ ...before, mapping: 'one' }, before)).toBe(true);
    expect(outdatesIndex({ ...before, mapping: 'one' }, { ...before, mapping: 'one' })).toBe(false);
  });

  it('progress that advances outdates no index', () => {
    const before = at({ 'p.t.users/0': 7 });
    expect(outdatesIndex(before, before)).toBe(false);
    expect(outdatesIndex(before, at({ 'p.t.users/0': 9, 'p.t.users/1': 0 }))).toBe(false);
  });
});
