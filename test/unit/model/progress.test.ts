import { expect, it } from 'vitest';
import { madeProgress } from '../core/support/progress.ts';
import { outdatesIndex, withOffsets, type Progress } from '../../../src/model/progress.ts';

const at = (offsets: Progress['offsets']) => madeProgress({ offsets, lifeId: 'first' });

it('an index is out of date if one of its topics starts again, but not if the topic grows', () => {
  const before = at({ 'p.t.users/0': 7, 'p.t.users/1': 2 });
  expect(outdatesIndex(before, at({ 'p.t.users/1': 2 }))).toBe(true);
  expect(outdatesIndex(before, at({ 'p.t.users/0': 6, 'p.t.users/1': 2 }))).toBe(true);
  expect(outdatesIndex(before, before)).toBe(false);
  expect(outdatesIndex(before, at({ 'p.t.users/0': 9, 'p.t.users/1': 2, 'p.t.users/2': 0 }))).toBe(false);
});

it('an index is out of date if its topic has no records, because offsets do not show a second loss', () => {
  const empty = madeProgress({ offsets: { 'p.t.rejects/0': 3 }, lifeId: null });
  expect(outdatesIndex(empty, empty)).toBe(true);
});

it('a life of a topic begins with its first record, and ends when its records are lost', () => {
  const lifeAfter = (progress: Partial<Progress>, offsets: Progress['offsets']) =>
    withOffsets(madeProgress(progress), offsets).lifeId;
  const [own, others] = [{ 'p.t.users/1': 0 }, { 'p.t.rejects/0': 4, 'p.t.absence-users/0': 2 }];
  const next = { collection: 'users', transactionId: 'this one' } as const;
  expect(lifeAfter(next, others)).toBeNull();
  expect(lifeAfter(next, { ...others, ...own })).toBe('this one');
  expect(lifeAfter({ ...next, lifeId: 'first' }, own)).toBe('first');
  expect(lifeAfter({ ...next, lifeId: 'first' }, others)).toBeNull();
});

it('an index is out of date if the mapping changed, whether it became newer or older', () => {
  const [none, one] = [at({}), { ...at({}), mapping: 'one' }];
  expect([outdatesIndex(none, one), outdatesIndex(one, none), outdatesIndex(one, one)]).toEqual([
    true,
    true,
    false,
  ]);
});
