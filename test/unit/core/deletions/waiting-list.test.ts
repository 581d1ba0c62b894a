import { expect, it } from 'vitest';
import { digestOf, waitingList } from '../../../../src/core/deletions/waiting-list.ts';

type Of = Parameters<typeof waitingList>[0][number];

function of(
  collection: Of['collection'],
  missing: Readonly<Record<string, number>>,
  onHoldSinceMs?: number,
): Of {
  const keys = Object.entries(missing).map(([key, times]) => [key, { sinceMs: 100 + times, times }] as const);
  return { collection, keys: new Map(keys), onHoldSinceMs: onHoldSinceMs ?? null };
}

const listed = (...given: Of[]) =>
  waitingList(given).map(({ collection, keys }) => `${collection} ${keys.join(' ')}`);

it('a decision lists all missing rows of collections on hold, and only confirmed rows of the others', () => {
  const onHold = [of('users', { b: 1, a: 2 }, 100), of('classes', { c: 1, d: 2 }), of('orgs', {})];
  expect(listed(...onHold)).toEqual(['users a b', 'classes d']);
  expect(listed(of('users', { a: 1, b: 2 }))).toEqual([]);
  // while only schedules are on hold, nothing else waits
  expect(listed(of('schedules', { 's|2026-01-01': 2 }, 100), of('users', { a: 2 }))).toHaveLength(1);
  const lost = { ...of('users', {}, 100), keys: null };
  expect(waitingList([lost])).toMatchObject([{ keys: [], isLost: true }]);
});

it('the digest of the list for a decision depends on keys and first misses, but not on their order', () => {
  const digest = (users: string, orgs: string, sinceMs = 1) => {
    const all = Object.entries({ users, orgs }).map(([name, keys]) => ({
      collection: name as Of['collection'],
      keys: keys.split(''),
      misses: new Map(keys.split('').map((key) => [key, { sinceMs, times: 2 }])),
    }));
    return [all, all.toReversed()].map((lists) => digestOf(lists));
  };
  const all = [digest('ab', 'c'), digest('ba', 'c'), digest('abc', ''), digest('a', 'bc')].flat();
  expect(all[0]).toMatch(/^[0-9a-f]{12}$/);
  expect(new Set(all).size).toBe(3);
  expect(new Set(all.slice(0, 4)).size).toBe(1);
  expect(all).not.toContain(digest('ab', 'c', 2)[0]);
});
