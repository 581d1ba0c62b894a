import { expect, it } from 'vitest';
import { sayHold } from '../../../../src/cli/tail/holds.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';

/** Says what is on hold for somebody whose row is `pupil`. `lost`: rows on hold that no list names. */
function said(
  onHold: Readonly<Partial<Record<CollectionName, readonly string[]>>>,
  { lost = 0, foreign = [] as CollectionName[] } = {},
) {
  const collections = Object.entries(onHold).map(([name, keys]) => {
    const of = { collection: name as CollectionName, keys, count: keys.length + lost };
    return Object.assign(of, { misses: new Map(), isOnHold: true, isLost: false, why: null });
  });
  return sayHold('north', { collections, rows: 0, foreign }, (_, key) => key === 'pupil');
}

it('the receipt names the collections in which rows that contain the id are on hold', () => {
  expect(said({ users: ['other', 'pupil'], orgs: ['school'] })).toMatch(
    /^on hold in north: rows of users; they stay until a person .*"rollcall deletes list --tenant north"/,
  );
});

it('the receipt says that no row with the id is on hold, and whether other decisions stop all removals', () => {
  expect(said({})).toBe('on hold in north: none of these rows');
  // A hold of schedules stops only removals of schedules.
  expect(said({ schedules: ['lesson'] })).toBe('on hold in north: none of these rows');
  const stops =
    /^on hold in north: none of these rows; but until a person has decided about (users|orgs), Rollcall removes no row/;
  expect(said({ orgs: ['school'] })).toMatch(stops);
  expect(said({}, { foreign: ['users'] })).toMatch(stops);
});

it('the receipt says that holds are not known if their list cannot be read, or does not name all rows', () => {
  const unknown = /^on hold in north: not known, /;
  expect(sayHold('north', null, () => true)).toMatch(unknown);
  expect(said({ users: ['other'] }, { lost: 1 })).toMatch(unknown);
});
