import { createHash } from 'node:crypto';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { mappingDigest } from '../../../src/core/content-hash.ts';
import { MAPPING_VERSION } from '../../../src/core/mapping-rules.ts';
import { createRowReader } from '../../../src/core/row-reader.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { arbitraryRow } from './support/arbitrary-rows.ts';
import {
  ABSENCE,
  absencesReader,
  hashOf,
  readable,
  reference,
  schemaOf,
  USER,
  usersReader,
} from './support/rows.ts';

const users = usersReader();
const absences = absencesReader();
const STAMPS = ['2030-01-01T00:00:00.000Z', '2026-03-05T03:00:00.123456Z', 'yesterday', 5, null, undefined];
const METADATA = {
  'x.birthDate': '2012-01-01',
  'x.ids': ['b', 'a'],
  href: 'https://one.example',
  deep: { href: 'x', a: 1 },
};

describe('the hash', () => {
  it.each([
    ['absence', hashOf(absences, ABSENCE), 'c57cf763270160bcb704ea758dda1039'],
    ['user', hashOf(users, USER), 'f812cf98354b722fcbde30431e6048eb'],
    [
      'user with oddities',
      hashOf(users, { ...USER, metadata: METADATA, primaryOrg: 5, givenName: 'Ærlig 😀' }),
      '91a925317e29af590097b4eb775bde64',
    ],
    ['row with nothing', hashOf(users, { sourcedId: 'a' }), '137dfff7d6fd006350d9c73c94de5532'],
  ])('of a %s is the same as in every release before', (_kind, hash, golden) => {
    expect(hash).toBe(golden);
  });

  it('covers the Avro body without the modification time', () => {
    const row = {
      ...USER,
      givenName: `Æ${'x'.repeat(100)}😀`,
      roles: [{ org: { sourcedId: 'school-1' } }],
      userIds: undefined,
      grades: [],
    };
    const value = { ...readable(users.read(row)).value, dateLastModified: null };
    const body = createValueCodec(schemaOf('users')).toBuffer(value);
    const prefix = mappingDigest({ mappingVersion: MAPPING_VERSION, drop: [], pseudonymise: [], ignore: [] });
    const expected = createHash('sha256').update(prefix).update(body).digest('hex').slice(0, 32);
    expect(hashOf(users, row)).toBe(expected);
  });
});

const { roles, grades, userIds } = USER;
const [one, other] = [{ type: 'a' }, { type: 'b', odd: 1 }];
const profile = (credentials: object[]) => ({ userProfiles: [{ profileId: 'p', credentials }] });
const agent = (href: string) => ({ agents: [{ href, sourcedId: 'a', odd: 1 }] });
const turned = Object.fromEntries(Object.entries({ ...METADATA, extra: null }).toReversed());

describe('without a change of content', () => {
  it.each([
    ['the spelling of a boolean', {}, { enabledUser: 1 }],
    ['the href of a row', {}, { href: 'https://elsewhere.example' }],
    ['the href of an odd reference', agent('https://one.example'), agent('https://two.example')],
    [
      'an href in an unknown field',
      { metadata: METADATA },
      { metadata: { ...METADATA, href: 'https://two.example', deep: { a: 1 } } },
    ],
    [
      'the order of a set',
      {},
      { roles: roles.toReversed(), grades: ['9', '8'], userIds: userIds.toReversed() },
    ],
    ['the order of a set in a set', profile([one, other]), profile([other, one])],
    ['the order of keys and a null in an unknown field', { metadata: METADATA }, { metadata: turned }],
    ['a null', {}, { email: null, unknown: null }],
  ])('%s changes no hash', (_name, fields, others) => {
    expect(hashOf(users, { ...USER, ...others })).toBe(hashOf(users, { ...USER, ...fields }));
  });

  it('another form of addresses changes no hash', () => {
    const relative = JSON.parse(JSON.stringify(USER).replaceAll('https://hub.example', '')) as object;
    expect(hashOf(users, relative)).toBe(hashOf(users, USER));
  });

  it('no row of any collection changes its hash by its modification time, its hrefs or the order of its keys', () => {
    for (const collection of ROW_COLLECTIONS) {
      const schema = schemaOf(collection);
      const reader = createRowReader({ schema });
      fc.assert(
        fc.property(arbitraryRow(schema), fc.constantFrom(...STAMPS), (made, dateLastModified) => {
          // As it comes: JSON.stringify writes -0 as 0.
          const text = JSON.stringify(made);
          const row = JSON.parse(text) as object;
          const moved = JSON.parse(text, (key, value: unknown) =>
            key === 'href' && typeof value === 'string' ? 'https://moved.example' : value,
          ) as object;
          const restamped = {
            ...Object.fromEntries(Object.entries(moved).toReversed()),
            dateLastModified,
          };
          expect(hashOf(reader, restamped)).toBe(hashOf(reader, row));
        }),
        { numRuns: 30 },
      );
    }
  });
});

describe('with a change of content', () => {
  it('the hashes of rows of different content differ', () => {
    const long = ['x'.repeat(63), 'x'.repeat(64)];
    const identifiers = userIds.map(({ type }, at) => ({ type, identifier: userIds[1 - at]?.identifier }));
    const values = {
      status: ['tobedeleted'],
      givenName: ['Testb', '', ...long, 'æ', 'Ã¦'],
      enabledUser: ['false', null, 'maybe'],
      grades: [['8'], [...grades, '9'], [], null, ['89']],
      email: ['Testesen'],
      roles: [{ role: 'teacher' }, { odd: 1 }].map((change) => [roles[0], { ...roles[1], ...change }]),
      userIds: [identifiers],
      metadata: [{}, { a: 1 }, { a: '1' }, { 'x.ids': ['b', 'a'] }, { 'x.ids': ['a', 'b'] }],
      unknown: ['1', 1],
      unknow: ['n1'],
    };
    const changes: object[] = [
      {},
      ...Object.entries(values).flatMap(([name, all]) => all.map((value) => ({ [name]: value }))),
      { metadata: { roles: ['b', 'c'] } },
      { metadata: { roles: ['c', 'b'] } },
      { metadata: {}, other: 1 },
      { givenName: 'a', middleName: null },
      { givenName: null, middleName: 'a' },
    ];
    const hashes = changes.map((fields) => hashOf(users, { ...USER, ...fields }));
    expect(new Set(hashes).size).toBe(changes.length);
    const [deletedTime, replacedBy] = ['2026-03-04T09:00:00Z', reference('absence', 'absence-2')];
    const times = ['2026-03-04T09:00:00.001Z', '2026-03-04T09:00:00.000001Z'].map((toTime) => ({ toTime }));
    const more = [{ absenceDurationValue: 45.5 }, { classesAffected: reference('class', 'class-1') }];
    const ofAbsences = [{}, { deletedTime }, { replacedBy }, ...times, ...more];
    const others = ofAbsences.map((fields) => hashOf(absences, { ...ABSENCE, ...fields }));
    expect(new Set(others).size).toBe(ofAbsences.length);
  });

  it('a large row gets the same hash at every reading', () => {
    const large = { ...USER, givenName: 'æ'.repeat(100_000), metadata: { text: 'x'.repeat(500_000) } };
    const reader = usersReader({ maxRecordBytes: 20_000_000 });
    const hash = hashOf(reader, large);
    expect(hashOf(reader, USER)).toBe(hashOf(users, USER));
    expect(hashOf(reader, { ...large, metadata: { text: 'x'.repeat(6_000_000) } })).not.toBe(hash);
    expect(hashOf(reader, large)).toBe(hash);
    expect(hashOf(reader, USER)).toBe(hashOf(users, USER));
  });
});
