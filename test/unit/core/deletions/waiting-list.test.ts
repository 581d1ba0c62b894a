import { expect, it } from 'vitest';
import {
  digestOf,
  waitingList,
  type MissingOfCollection,
} from '../../../../src/core/deletions/waiting-list.ts';

function of(
  collection: MissingOfCollection['collection'],
  missing: Readonly<Record<string, number>> | null,
  heldSinceMs: number | null = null,
): MissingOfCollection {
  const keys =
    missing === null
      ? null
      : new Map(Object.entries(missing).map(([key, times]) => [key, { sinceMs: 100 + times, times }]));
  return { collection, keys, heldSinceMs };
}

const listed = (...given: Parameters<typeof waitingList>[0][number][]) =>
  waitingList(given).map(({ collection, keys, sinceMs }) => `${collection} ${keys.join(' ')} ${sinceMs}`);

it('the list of a tenant has all missing rows of held collections, and the confirmed ones of the others', () => {
  const held = [of('users', { b: 1, a: 2 }, 100), of('classes', { c: 1, d: 2 }), of('orgs', {})];
  expect(listed(...held)).toEqual(['users a b 101', 'classes d 102']);
  expect(listed(of('users', { a: 1, b: 2 }))).toEqual([]);
  // while only schedules are held, nothing else waits
  expect(listed(of('schedules', { 's|2026-01-01': 2 }, 100), of('users', { a: 2 }))).toHaveLength(1);
  expect(waitingList([of('users', null, 100)])).toMatchObject([{ keys: [], isLost: true }]);
});

it('the digest depends on collections and keys alone, not on their order', () => {
  const [users, orgs] = [
    { collection: 'users', keys: ['a', 'b'] },
    { collection: 'orgs', keys: ['c'] },
  ] as const;
  const digest = digestOf([users, orgs]);
  expect(digest).toMatch(/^[0-9a-f]{12}$/);
  expect(digestOf([orgs, { ...users, keys: ['b', 'a'] }])).toBe(digest);
  expect(digestOf([{ ...users, keys: ['a', 'b', 'c'] }])).not.toBe(digest);
  expect(
    digestOf([
      { ...users, keys: ['a'] },
      { ...orgs, keys: ['b', 'c'] },
    ]),
  ).not.toBe(digest);
});
