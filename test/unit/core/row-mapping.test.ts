import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import type { RowReader } from '../../../src/core/rows/decoded-row.ts';
import { applyMapping } from '../../../src/core/rows/apply-mapping.ts';
import { mappingIdOf } from '../../../src/core/rows/mapping-rules.ts';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import type { Fields } from './support/rows.ts';
import {
  ABSENCE,
  absencesReader,
  hashOf,
  readable,
  reference,
  refused,
  schemaOf,
  USER,
  usersReader,
} from './support/rows.ts';

const KEY = 'a key for tests';
const hmac = (text: string) => createHmac('sha256', KEY).update(text).digest('hex');

it('a dropped field is neither published nor hashed, nor kept in a reject', () => {
  const reader = usersReader({ drop: ['givenName', 'metadata', '__proto__'] });
  const row = { ...USER, metadata: { secret: 'S3CRET' } };
  Object.defineProperty(row, '__proto__', { value: 'S3CRET', enumerable: true });
  const reading = readable(reader.read(row));
  expect(reading.value).toMatchObject({ givenName: null, additionalFields: null });
  expect(hashOf(reader, { ...row, givenName: 'Another' })).toBe(reading.hash.toString('hex'));
  const { text } = refused(reader.read({ ...row, sourcedId: 5 }));
  expect(text).not.toMatch(/S3CRET|Testa/);
  expect(text).toContain('Testesen');
  const texts = [reader, usersReader()].map((each) => refused(each.read(['Testa'])).text);
  expect(texts).toEqual([null, '["Testa"]']);
});

it('the original value of a pseudonymised field appears nowhere', () => {
  const pseudonymise = ['givenName', 'primaryOrg', 'agents', 'userIds', 'enabledUser', 'national'];
  const reader = usersReader({ pseudonymise, pseudonymiseKey: KEY });
  const { value } = readable(
    reader.read({
      sourcedId: 'user-1',
      givenName: 'Testa',
      familyName: null,
      enabledUser: true,
      national: 'Testa',
      primaryOrg: { ...reference('org', 'school-1'), name: 'Testa' },
      agents: [reference('user', 'guardian-1')],
      userIds: [{ type: 'x', identifier: 'Testa' }],
    }),
  );
  expect(value).toMatchObject({
    givenName: hmac('Testa'),
    familyName: null,
    userIds: null,
    enabledUser: null,
    primaryOrg: { sourcedId: hmac('school-1'), type: 'org', href: null },
    agents: [{ sourcedId: hmac('guardian-1'), type: 'user', href: null }],
  });
  expect(JSON.parse(value.additionalFields ?? '')).toEqual({
    userIds: [hmac('{"identifier":"Testa","type":"x"}')],
    enabledUser: hmac('true'),
    national: hmac('Testa'),
  });
  expect(refused(reader.read({ givenName: 'Testa', national: 'Testa' })).text).not.toContain('Testa');
});

it('a changed mapping changes every hash, and is refused if its key is missing', () => {
  const mappings = [
    {},
    { drop: ['comment'] },
    { ignore: ['comment'] },
    { pseudonymise: ['comment'], pseudonymiseKey: KEY },
    { drop: ['comment', 'sms'] },
  ];
  const hashes = mappings.flatMap((mapping) => {
    const reader = usersReader(mapping);
    return [hashOf(reader, USER), refused(reader.read({})).hash.toString('hex')];
  });
  expect(new Set(hashes).size).toBe(2 * mappings.length);
  expect(hashes).toContain(hashOf(usersReader({ drop: ['sms', 'comment'] }), USER));
  expect(() => usersReader({ pseudonymise: ['givenName'] })).toThrow('key');
});

it('a change of an ignored field does not change the hash, and the field is published', () => {
  const reader = usersReader({ ignore: ['email', 'metadata', 'roles'] });
  const one = readable(reader.read({ ...USER, email: 'a@school.example', metadata: { a: 1 } }));
  const other = readable(reader.read({ ...USER, email: 'b@school.example', metadata: { a: 2 }, roles: [] }));
  expect(other.hash).toEqual(one.hash);
  expect(one.value).toMatchObject({ email: 'a@school.example', additionalFields: '{"metadata":{"a":1}}' });
  expect(hashOf(reader, { ...USER, phone: '5' })).not.toBe(one.hash.toString('hex'));
});

it('the id of a mapping depends on which fields get which treatment, and on a key that is in use', () => {
  const masking = { drop: ['school'], pseudonymise: ['student', 'class'], pseudonymiseKey: 'one key' };
  const idOf = (given: Partial<typeof masking>) => mappingIdOf({ ...masking, ...given });
  expect(idOf({ drop: [], pseudonymise: [] })).toBeNull();
  expect(idOf({})).toMatch(/^[0-9a-f]{16}$/);
  expect(idOf({ pseudonymise: ['class', 'student', 'class'] })).toBe(idOf({}));
  const unused = { drop: ['school'], pseudonymise: [] };
  expect(idOf({ ...unused, pseudonymiseKey: 'another' })).toBe(idOf(unused));
  const swapped = { drop: ['student', 'class'], pseudonymise: ['school'] };
  const others = [{}, { drop: [] }, swapped, { pseudonymiseKey: 'another' }];
  expect(new Set([null, ...others.map(idOf)]).size).toBe(5);
});

const MASK = { pseudonymise: ['student'], drop: ['school', 'absenceDurationValue', 'note'] };
const plain = absencesReader();
const masked = absencesReader({ ...MASK, pseudonymiseKey: 'a key of sixteen or more' });
const ROW = { ...ABSENCE, note: 'ill', absenceDurationValue: 45 };
const codec = createValueCodec<Fields>(schemaOf('absence-versions'));

/** Decodes a published value as a consumer or Rollcall does. */
function logged(reader: RowReader): { value: Fields; mapping: string | null } {
  const { value } = readable(reader.read(ROW));
  return { value: codec.fromBuffer(reader.encode(value)), mapping: reader.mapping };
}

it('a value written under another or an unknown mapping has the value and hash of the current one', () => {
  const fresh = readable(masked.read(ROW));
  for (const mapping of ['another', null]) {
    const found = applyMapping(masked, { ...logged(plain), mapping });
    expect(masked.hashOf(found)).toEqual(fresh.hash);
    expect(JSON.stringify(found)).toBe(JSON.stringify({ ...fresh.value }));
  }
  // one pseudonymised under another key is masked a second time
  const other = logged(absencesReader({ ...MASK, pseudonymiseKey: 'another key of sixteen' }));
  expect(applyMapping(masked, other)).not.toMatchObject({ student: other.value['student'] });
});

it('a value stays as it is under its own mapping, and under a mapping that takes nothing out', () => {
  const record = logged(masked);
  for (const reader of [masked, plain]) expect(applyMapping(reader, record)).toEqual(record.value);
});

it('a value that cannot be decoded again is reduced to its id', () => {
  const value = { ...logged(plain).value, fromTime: null };
  expect(applyMapping(masked, { value, mapping: null })).toEqual({ sourcedId: 'absence-1' });
});
