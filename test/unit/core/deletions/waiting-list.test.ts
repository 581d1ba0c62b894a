import { describe, expect, it } from 'vitest';
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

describe('the list of a tenant', () => {
  it('is empty while no collection is held, whatever is missing', () => {
    expect(waitingList([of('users', { a: 1, b: 2 })])).toEqual([]);
  });

  it('has all missing rows of held collections, and the confirmed ones of the others, under one digest', () => {
    const list = waitingList([
      of('users', { b: 1, a: 2 }, 100),
      of('classes', { c: 1, d: 2 }),
      of('orgs', {}),
    ]);
    expect(list.map(({ collection, keys, sinceMs }) => ({ collection, keys, sinceMs }))).toEqual([
      { collection: 'users', keys: ['a', 'b'], sinceMs: 101 },
      { collection: 'classes', keys: ['d'], sinceMs: 102 },
    ]);
    expect(digestOf(list)).toMatch(/^[0-9a-f]{12}$/);
  });

  it('says that it is lost, if a hold stands and nothing is remembered', () => {
    expect(waitingList([of('users', null, 100)])).toMatchObject([{ keys: [], isLost: true }]);
  });

  it('has nothing of other collections while only schedules are held', () => {
    const list = waitingList([of('schedules', { 's|2026-01-01': 2 }, 100), of('users', { a: 2 })]);
    expect(list.map(({ collection }) => collection)).toEqual(['schedules']);
  });
});

describe('the digest', () => {
  it('depends on collections and keys alone, not on their order', () => {
    const one = digestOf([
      { collection: 'users', keys: ['a', 'b'] },
      { collection: 'orgs', keys: ['c'] },
    ]);
    const other = digestOf([
      { collection: 'orgs', keys: ['c'] },
      { collection: 'users', keys: ['b', 'a'] },
    ]);
    expect(other).toBe(one);
    expect(digestOf([{ collection: 'users', keys: ['a', 'b', 'c'] }])).not.toBe(one);
  });
});
