import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { createRowReader } from '../../../src/core/rows/row-reader.ts';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { arbitraryRow } from './support/arbitrary-rows.ts';
import { ABSENCE, absencesReader, hashOf, reference, schemaOf, USER, usersReader } from './support/rows.ts';
import { forMany } from '../support/for-all.ts';

const users = usersReader();
const absences = absencesReader();
const STAMPS = ['2030-01-01T00:00:00.000Z', '2026-03-05T03:00:00.123456Z', 'yesterday', 5, null, undefined];
const METADATA = {
  'x.birthDate': '2012-01-01',
  'x.ids': ['b', 'a'],
  href: 'https://one.example',
  deep: { href: 'x', a: 1 },
};

const MISFITS = { ...USER, metadata: METADATA, primaryOrg: 5, givenName: 'Ærlig 😀' };

it.each([
  ['absence', absences, ABSENCE, 'c57cf763270160bcb704ea758dda1039'],
  ['user', users, USER, 'f812cf98354b722fcbde30431e6048eb'],
  ['user with values that do not fit', users, MISFITS, 'c25f17daae2ea33dce8f5d0476ee0191'],
  ['row with nothing', users, { sourcedId: 'a' }, '137dfff7d6fd006350d9c73c94de5532'],
])('the hash of a %s is the same as in every release before', (_kind, reader, row, golden) => {
  expect(hashOf(reader, row)).toBe(golden);
});

const { roles, grades, userIds } = USER;
const [one, other] = [{ type: 'a' }, { type: 'b', unknown: 1 }];
const profile = (credentials: object[]) => ({ userProfiles: [{ profileId: 'p', credentials }] });

it('the order of a set, a null and the spelling of a value change no hash', () => {
  const turned = Object.fromEntries(Object.entries({ ...METADATA, extra: null }).toReversed());
  for (const [fields, others] of [
    [{}, { roles: roles.toReversed(), grades: ['9', '8'], userIds: userIds.toReversed() }],
    [profile([one, other]), profile([other, one])],
    [{ metadata: METADATA }, { metadata: turned, email: null, unknown: null, enabledUser: 1 }],
  ])
    expect(hashOf(users, { ...USER, ...others })).toBe(hashOf(users, { ...USER, ...fields }));
});

it('no row changes its hash by its modification time, its hrefs or the order of its keys', () => {
  for (const collection of ROW_COLLECTIONS) {
    const schema = schemaOf(collection);
    const reader = createRowReader({ schema });
    forMany(30, [arbitraryRow(schema), fc.constantFrom(...STAMPS)], (made, dateLastModified) => {
      // As it comes: JSON.stringify writes -0 as 0.
      const text = JSON.stringify(made);
      const moved = JSON.parse(text, (key, value: unknown) =>
        key === 'href' && typeof value === 'string' ? 'https://moved.example' : value,
      ) as object;
      const turned = Object.fromEntries(Object.entries(moved).toReversed());
      const row = JSON.parse(text) as object;
      expect(hashOf(reader, { ...turned, dateLastModified })).toBe(hashOf(reader, row));
    });
  }
});

it('the hashes of rows of different content differ', () => {
  const identifiers = userIds.map(({ type }, at) => ({ type, identifier: userIds[1 - at]?.identifier }));
  const values = {
    status: ['tobedeleted'],
    givenName: ['Testb', '', 'x'.repeat(63), 'x'.repeat(64), 'æ', 'Ã¦'],
    enabledUser: ['false', null, 'maybe'],
    grades: [['8'], [...grades, '9'], [], null, ['89']],
    email: ['Testesen'],
    roles: [{ role: 'teacher' }, { unknown: 1 }].map((change) => [roles[0], { ...roles[1], ...change }]),
    userIds: [identifiers],
    metadata: [
      {},
      { a: 1 },
      { a: '1' },
      { x: ['b', 'a'] },
      { x: ['a', 'b'] },
      { roles: ['b'] },
      { roles: ['c', 'd'] },
      { roles: ['d', 'c'] },
    ],
    unknown: ['1', 1],
    unknow: ['n1'],
  };
  const changes: object[] = [
    {},
    ...Object.entries(values).flatMap(([name, all]) => all.map((value) => ({ [name]: value }))),
    { givenName: 'a', middleName: null },
    { givenName: null, middleName: 'a' },
  ];
  const hashes = changes.map((fields) => hashOf(users, { ...USER, ...fields }));
  expect(new Set(hashes).size).toBe(changes.length);
  const more = [
    {},
    { deletedTime: '2026-03-04T09:00:00Z' },
    { replacedBy: reference('absence', 'absence-2') },
    { toTime: '2026-03-04T09:00:00.001Z' },
    { toTime: '2026-03-04T09:00:00.000001Z' },
    { absenceDurationValue: 45.5 },
  ];
  expect(new Set(more.map((fields) => hashOf(absences, { ...ABSENCE, ...fields }))).size).toBe(more.length);
});

it('a large row has the same hash at every reading, and does not change the hash of another row', () => {
  const large = { ...USER, givenName: 'æ'.repeat(100_000), metadata: { text: 'x'.repeat(500_000) } };
  const reader = usersReader({ maxRecordBytes: 20_000_000 });
  const hash = hashOf(reader, large);
  expect(hashOf(reader, { ...large, metadata: { text: 'x'.repeat(6_000_000) } })).not.toBe(hash);
  expect([hashOf(reader, large), hashOf(reader, USER)]).toEqual([hash, hashOf(users, USER)]);
});
