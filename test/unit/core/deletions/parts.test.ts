import { expect, it } from 'vitest';
import { needsReason, partsOf, type Schools } from '../../../../src/core/deletions/parts.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';

const rowsOf = (school: string, count: number, name = 'row'): string[] =>
  Array.from({ length: count }, (_, at) => `${school}-${name}-${String(at).padStart(4, '0')}`);

/** Published rows by collection; the school of a row is the first word of its key, `none` for none. */
function published(rows: Partial<Record<CollectionName, readonly string[]>>): Schools {
  const schoolOf = (key: string): string | null => {
    const [school = ''] = key.split('-');
    return school === 'none' ? null : school;
  };
  return new Map(
    Object.entries(rows).map(([collection, keys]) => [
      collection as CollectionName,
      new Map(keys.map((key) => [key, schoolOf(key)])),
    ]),
  );
}

const listed = (collection: CollectionName, keys: readonly string[], sinceMs = 1) => ({
  collection,
  keys: keys.toSorted(),
  misses: new Map(keys.map((key, at) => [key, { sinceMs: sinceMs + at, times: 2 }])),
});

/** `school|collection rows of known|…`. */
const told = (parts: ReturnType<typeof partsOf>): string[] =>
  parts.map(({ school, collections }) =>
    [
      school ?? '-',
      ...collections.map(({ collection, keys, known }) => `${collection} ${keys.length} of ${known}`),
    ].join('|'),
  );

const SCHOOLS = ['a', 'b', 'c', 'd', 'e'];
const users = SCHOOLS.flatMap((school) => rowsOf(school, 220));
const enrollments = SCHOOLS.flatMap((school) => rowsOf(school, 900));
const leavers = ['b', 'c', 'd', 'e'].flatMap((school) => rowsOf(school, 34));
const ESTATE = published({ users, enrollments, orgs: SCHOOLS, results: rowsOf('none', 50) });

it('a lost school is one part with all rows that belong to it, and leavers are another part', () => {
  const parts = partsOf(
    [
      listed('users', [...rowsOf('a', 220), ...leavers], 500),
      listed('enrollments', rowsOf('a', 900), 700),
      listed('orgs', ['a']),
      listed('results', rowsOf('none', 9)),
    ],
    ESTATE,
  );
  expect(told(parts)).toEqual([
    'a|users 220 of 220|enrollments 900 of 900|orgs 1 of 1',
    '-|users 136 of 1100',
    '-|results 9 of 50',
  ]);
  // Each part has its own time: the leavers were missed after the rows of the school.
  expect(parts.map(({ collections }) => collections[0]?.sinceMs)).toEqual([500, 720, 1]);
  expect(parts[1]?.collections[0]?.keys).toEqual(leavers.toSorted());
  expect(new Set(parts.map(({ digest }) => digest)).size).toBe(3);
});

it('a school of which few rows are missing, or which has too few rows to tell, is no part of its own', () => {
  const few = published({ users: [...users, 'f-1', 'f-2'] });
  expect(told(partsOf([listed('users', [...rowsOf('a', 100), 'f-1', 'f-2'])], few))).toEqual([
    '-|users 102 of 1102',
  ]);
});

it('a collection that has lost nearly all rows of several schools is one part', () => {
  expect(told(partsOf([listed('users', users.slice(100))], ESTATE))).toEqual(['-|users 1000 of 1100']);
});

it('only the ten largest schools are parts, and no row is in two parts or in none', () => {
  const schools = Array.from({ length: 30 }, (_, at) => `s${at}`);
  const rows = schools.flatMap((school, at) => rowsOf(school, 10 + at));
  const missing = schools.slice(0, 12).flatMap((school, at) => rowsOf(school, 10 + at));
  const parts = partsOf([listed('users', missing)], published({ users: rows }));
  expect(parts.filter(({ school }) => school !== null).map(({ school }) => school)).toEqual(
    schools.slice(2, 12).toReversed(),
  );
  expect(parts.flatMap(({ collections }) => collections.flatMap(({ keys }) => keys)).toSorted()).toEqual(
    missing.toSorted(),
  );
});

it('the digest of a part changes only with the rows of this part', () => {
  const digests = (more: readonly string[], ofSchool: number) => {
    const keys = [...rowsOf('a', ofSchool), ...more];
    const misses = new Map(keys.map((key) => [key, { sinceMs: 1, times: 2 }]));
    return partsOf([{ ...listed('users', keys), misses }], ESTATE).map(({ digest }) => digest);
  };
  const [school, others] = digests(leavers, 220);
  expect(digests(leavers.slice(1), 220)).toEqual([school, expect.not.stringMatching(others ?? '')]);
  expect(digests(leavers, 219)).toEqual([expect.not.stringMatching(school ?? ''), others]);
});

it('a part needs a reason if it has 90 % or more of the rows of a collection', () => {
  const needs = (count: number) =>
    partsOf([listed('results', rowsOf('none', count))], ESTATE).map((part) => needsReason(part));
  expect([needs(44), needs(45)]).toEqual([[false], [true]]);
  const school = partsOf([listed('users', rowsOf('a', 220))], ESTATE);
  expect(school.map((part) => needsReason(part))).toEqual([false]);
});
