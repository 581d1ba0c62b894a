import { expect, it } from 'vitest';
import { madeProgress } from '../core/support/progress.ts';
import { outdatesIndex, type Progress } from '../../../src/model/progress.ts';

const at = (offsets: Progress['offsets']) => madeProgress({ offsets });

it('a topic that starts again outdates an index, one that advances does not', () => {
  const before = at({ 'p.t.users/0': 7, 'p.t.users/1': 2 });
  expect(outdatesIndex(before, at({ 'p.t.users/1': 2 }))).toBe(true);
  expect(outdatesIndex(before, at({ 'p.t.users/0': 6, 'p.t.users/1': 2 }))).toBe(true);
  expect(outdatesIndex(before, before)).toBe(false);
  expect(outdatesIndex(before, at({ 'p.t.users/0': 9, 'p.t.users/1': 2, 'p.t.users/2': 0 }))).toBe(false);
});

it('a changed mapping outdates an index, in either direction', () => {
  const [none, one] = [at({}), { ...at({}), mapping: 'one' }];
  expect([outdatesIndex(none, one), outdatesIndex(one, none), outdatesIndex(one, one)]).toEqual([
    true,
    true,
    false,
  ]);
});
