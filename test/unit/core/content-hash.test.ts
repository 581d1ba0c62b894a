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

describe('without a change of content', () => {
  it('a re-stamp publishes nothing', () => {
    const stamps = [
      '2026-03-05T03:00:00.000Z',
      '2026-03-05T03:00:00.123456Z',
      'yesterday',
      5,
      null,
      undefined,
    ];
    for (const dateLastModified of stamps) {
      expect(hashOf(absences, { ...ABSENCE, dateLastModified })).toBe(hashOf(absences, ABSENCE));
    }
  });

  it('another href publishes nothing', () => {
    const moved = { ...reference('user', 'student-1'), href: 'https://elsewhere.example/x' };
    expect(hashOf(absences, { ...ABSENCE, student: moved })).toBe(hashOf(absences, ABSENCE));
    const relative = JSON.parse(JSON.stringify(USER).replaceAll('https://hub.example', '')) as object;
    expect(hashOf(users, relative)).toBe(hashOf(users, USER));
    expect(hashOf(users, { ...USER, href: 'https://elsewhere.example' })).toBe(hashOf(users, USER));
  });

  it('another href in a field that Rollcall does not know publishes nothing', () => {
    const moved = { ...METADATA, href: 'https://two.example', deep: { a: 1 } };
    expect(hashOf(users, { ...USER, metadata: moved })).toBe(hashOf(users, { ...USER, metadata: METADATA }));
    const odd = (href: string): object => ({ ...USER, agents: [{ href, sourcedId: 'a', odd: 1 }] });
    expect(hashOf(users, odd('https://one.example'))).toBe(hashOf(users, odd('https://two.example')));
  });

  it('another order of a set publishes nothing', () => {
    const turned = {
      ...USER,
      roles: USER.roles.toReversed(),
      grades: ['9', '8'],
      userIds: USER.userIds.toReversed(),
    };
    expect(hashOf(users, turned)).toBe(hashOf(users, USER));
    const profile = (credentials: object[]): object => ({
      ...USER,
      userProfiles: [{ profileId: 'p', credentials }],
    });
    const [one, other] = [{ type: 'a' }, { type: 'b' }];
    expect(hashOf(users, profile([one, other]))).toBe(hashOf(users, profile([other, one])));
    expect(hashOf(users, profile([one, { ...other, odd: 1 }]))).toBe(
      hashOf(users, profile([{ ...other, odd: 1 }, one])),
    );
  });

  it('another order of keys, or a null in a field that Rollcall does not know, publishes nothing', () => {
    const reversed = Object.fromEntries(Object.entries({ ...USER, metadata: METADATA, zz: 1 }).toReversed());
    const metadata = Object.fromEntries(Object.entries({ ...METADATA, extra: null }).toReversed());
    expect(hashOf(users, { ...reversed, metadata })).toBe(
      hashOf(users, { ...USER, metadata: METADATA, zz: 1 }),
    );
  });

  it('another spelling of a boolean publishes nothing', () => {
    expect(hashOf(users, { ...USER, enabledUser: 1 })).toBe(hashOf(users, USER));
  });

  it('no row of any collection changes its hash by its modification time, its hrefs or the order of its keys', () => {
    for (const collection of ROW_COLLECTIONS) {
      const schema = schemaOf(collection);
      const reader = createRowReader({ schema });
      fc.assert(
        fc.property(arbitraryRow(schema), (made) => {
          // As it comes: JSON.stringify writes -0 as 0.
          const text = JSON.stringify(made);
          const row = JSON.parse(text) as object;
          const moved = JSON.parse(text, (key, value: unknown) =>
            key === 'href' && typeof value === 'string' ? 'https://moved.example' : value,
          ) as object;
          const restamped = {
            ...Object.fromEntries(Object.entries(moved).toReversed()),
            dateLastModified: '2030-01-01T00:00:00Z',
          };
          expect(hashOf(reader, restamped)).toBe(hashOf(reader, row));
        }),
        { numRuns: 30 },
      );
    }
  });
});

describe('with a change of content', () => {
  it.each([
    { status: 'tobedeleted' },
    { givenName: 'Testb' },
    { givenName: '' },
    { enabledUser: 'false' },
    { enabledUser: null },
    { enabledUser: 'maybe' },
    { grades: ['8'] },
    { grades: ['8', '9', '9'] },
    { grades: [] },
    { grades: null },
    { grades: ['89'] },
    { email: 'Testesen' },
    { roles: [USER.roles[0], { ...USER.roles[1], role: 'teacher' }] },
    { roles: [USER.roles[0], { ...USER.roles[1], odd: 1 }] },
    {
      userIds: [
        { type: 'b', identifier: '1' },
        { type: 'a', identifier: '2' },
      ],
    },
    { metadata: {} },
    { metadata: { 'x.ids': ['b', 'a'] } },
    { metadata: { 'x.ids': ['a', 'b'] } },
    { unknown: '1' },
    { unknown: 1 },
    { unknow: 'n1' },
  ])('%j changes the hash', (fields) => {
    expect(hashOf(users, { ...USER, ...fields })).not.toBe(hashOf(users, USER));
  });

  it('different rows have different hashes', () => {
    const rows = [
      { metadata: { a: ['b', 'c'] } },
      { metadata: { a: ['c', 'b'] } },
      { metadata: { roles: ['b', 'c'] } },
      { metadata: { roles: ['c', 'b'] } },
      { metadata: { a: 1 } },
      { metadata: { a: '1' } },
      { metadata: {}, other: 1 },
      { givenName: 'a', middleName: null },
      { givenName: null, middleName: 'a' },
      { givenName: 'x'.repeat(63) },
      { givenName: 'x'.repeat(64) },
      { givenName: 'æ' },
      { givenName: 'Ã¦' },
    ];
    const hashes = rows.map((row) => hashOf(users, { sourcedId: 'a', ...row }));
    expect(new Set(hashes).size).toBe(rows.length);
  });

  it("a change of an absence's end, replacement, duration or classes changes the hash", () => {
    for (const fields of [
      { deletedTime: '2026-03-04T09:00:00Z' },
      { replacedBy: reference('absence', 'absence-2') },
      { toTime: '2026-03-04T09:00:00.001Z' },
      { toTime: '2026-03-04T09:00:00.000001Z' },
      { absenceDurationValue: 45.5 },
      { classesAffected: reference('class', 'class-1') },
    ]) {
      expect(hashOf(absences, { ...ABSENCE, ...fields })).not.toBe(hashOf(absences, ABSENCE));
    }
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
