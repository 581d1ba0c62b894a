import { describe, expect, it } from 'vitest';
import { differenceOf, stateOf, type HubSide } from '../../../../src/core/verify/judge-key.ts';
import { RowComparison, type TopicView } from '../../../../src/core/verify/row-comparison.ts';
import { hashIn, isSound, topicEntry } from '../../../../src/core/verify/topic-entry.ts';
import type { KeyedRow } from '../../../../src/core/row-changes.ts';

const A = Buffer.alloc(16, 0xaa);
const B = Buffer.alloc(16, 0xbb);
const entry = (hash: Buffer | null, sound = true): string => topicEntry(hash, sound);
const hub = (hash: Buffer, modifiedAtMs: number | null = 1_000): Exclude<HubSide, 'unreadable'> => ({
  hash: hash.toString('latin1'),
  modifiedAtMs,
});

describe('an entry of a topic', () => {
  it('keeps every bit of a hash', () => {
    const hash = Buffer.from('00ff7f80c3a9e282ac0a0d1f20f09f98', 'hex');
    expect(Buffer.from(hashIn(entry(hash)), 'latin1')).toEqual(hash);
    expect(Buffer.from(hashIn(entry(hash, false)), 'latin1')).toEqual(hash);
    expect([isSound(entry(hash)), isSound(entry(hash, false))]).toEqual([true, false]);
  });

  it('of a record without a hash is what the index holds for it', () => {
    expect(Buffer.from(hashIn(entry(null, false)), 'latin1')).toEqual(Buffer.alloc(16));
    expect(hashIn(entry(Buffer.from('short')))).toBe(hashIn(entry(null)));
  });
});

describe('a difference', () => {
  it.each([
    [hub(A), entry(A), null],
    [hub(A), entry(B), 'different'],
    [hub(A), null, 'missing'],
    [hub(A), entry(A, false), 'undecodable'],
    [null, entry(A), 'left-over'],
    [null, entry(A, false), 'left-over'],
    [null, null, null],
    // A row that cannot be decoded leaves its record as it is.
    ['unreadable', entry(B), null],
    ['unreadable', null, null],
    ['unreadable', entry(B, false), 'undecodable'],
  ] as const)('between %j and %j is reported as %s', (side, topic, kind) => {
    expect(differenceOf({ hub: side, topic })).toBe(kind);
  });
});

describe('the state of a difference', () => {
  const known = { index: B.toString('latin1'), isWithheld: false, watermarkMs: 500 };
  const text = A.toString('latin1');
  it.each([
    ['a recent change that the index does not know', 'different', hub(A), {}, 'pending'],
    ['a change that has been read already', 'different', hub(A, 400), {}, 'wrong'],
    ['a change that the index takes for published', 'different', hub(A), { index: text }, 'wrong'],
    [
      'a row without a modification time that the index does not know',
      'missing',
      hub(A, null),
      {},
      'pending',
    ],
    [
      'a row without a modification time that the index takes for published',
      'missing',
      hub(A, null),
      { index: text },
      'wrong',
    ],
    ['a recent change where the index cannot be asked', 'missing', hub(A), { index: undefined }, 'pending'],
    ['a removal that the index knows', 'left-over', null, {}, 'pending'],
    ['a key that the index does not know', 'left-over', null, { index: null }, 'wrong'],
    ['a removal that needs a decision', 'left-over', null, { isWithheld: true }, 'withheld'],
    [
      'a loss of content that needs a decision',
      'different',
      { ...hub(A), becameEmpty: true },
      { isWithheld: true },
      'withheld',
    ],
    [
      'a wrong record of a row that is back, though it is still listed',
      'different',
      hub(A),
      { isWithheld: true, index: text },
      'wrong',
    ],
    ['a record that cannot be decoded', 'undecodable', hub(A), { isWithheld: true }, 'wrong'],
  ] as const)('tells whether the next sync publishes it: %s', (_name, kind, side, more, state) => {
    expect(stateOf(kind, side, { ...known, ...more })).toBe(state);
  });
});

describe('a comparison of rows', () => {
  const row = (key: string, hash: Buffer, becameEmpty = false): KeyedRow => ({
    key,
    rejectKey: key,
    becameEmpty,
    decoded: { kind: 'row', sourcedId: key, value: {}, hash, modifiedAtMs: 1 },
  });
  const reject = (key: string | null, hash: Buffer): KeyedRow => ({
    key,
    rejectKey: key ?? 'sha256:00',
    decoded: {
      kind: 'reject',
      sourcedId: key,
      rejectId: key ?? 'sha256:00',
      reason: '',
      text: null,
      modifiedAtMs: null,
      hash,
    },
  });
  const viewOf = (rows: Record<string, string>, rejects: Record<string, string> = {}): TopicView => ({
    rows: new Map(Object.entries(rows)),
    rejects: new Map(Object.entries(rejects)),
  });

  it('finds every key of either side that differs', () => {
    const view = viewOf({ same: entry(A), other: entry(B), over: entry(A) });
    const comparison = new RowComparison(view, { seed: 1, skipsEmpty: false });
    for (const each of [row('same', A), row('other', A), row('news', A)]) comparison.take(each);
    comparison.finish();
    expect([...comparison.candidates.rows.keys()].toSorted()).toEqual(['news', 'other', 'over']);
    expect(comparison.hubRows).toBe(3);
  });

  it('takes the first row of an id that is listed twice', () => {
    const comparison = new RowComparison(viewOf({ twice: entry(A) }), { seed: 1, skipsEmpty: false });
    comparison.take(row('twice', A));
    comparison.take(row('twice', B));
    comparison.finish();
    expect(comparison.candidates.rows.size).toBe(0);
  });

  it('does not take an undecodable row for one that is gone', () => {
    const view = viewOf({ odd: entry(A) }, { odd: entry(B), over: entry(B) });
    const comparison = new RowComparison(view, { seed: 1, skipsEmpty: false });
    comparison.take(reject('odd', B));
    comparison.take(reject(null, A));
    comparison.finish();
    expect(comparison.candidates.rows.size).toBe(0);
    expect([...comparison.candidates.rejects.keys()].toSorted()).toEqual(['over', 'sha256:00']);
  });

  it('wants no record of a day that never had lessons, and does not count it', () => {
    const view = viewOf({ emptied: entry(A), same: entry(A) });
    const comparison = new RowComparison(view, { seed: 1, skipsEmpty: true });
    comparison.take(row('never', A, true));
    comparison.take(row('emptied', B, true));
    comparison.take(row('same', A));
    comparison.finish();
    expect([...comparison.candidates.rows.keys()]).toEqual(['emptied']);
    expect([comparison.hubRows, comparison.keysSeen, comparison.keysKnown]).toEqual([2, 2, 2]);
  });
});
