import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { hashOf, readable, reference, refused, USER, usersReader } from './support/rows.ts';

const KEY = 'a key for tests';
const hmac = (text: string) => createHmac('sha256', KEY).update(text).digest('hex');

it('a dropped field is neither published nor hashed, nor kept in a reject', () => {
  const reader = usersReader({ drop: ['givenName', 'metadata', '__proto__'] });
  const row = { ...USER, metadata: { secret: 'S3CRET' } };
  Object.defineProperty(row, '__proto__', { value: 'S3CRET', enumerable: true });
  const reading = readable(reader.read(row));
  expect(reading.value).toMatchObject({ givenName: null, additionalFields: {} });
  expect(hashOf(reader, { ...row, givenName: 'Another' })).toBe(reading.hash.toString('hex'));
  const { text } = refused(reader.read({ ...row, sourcedId: 5 }));
  expect(text).not.toMatch(/S3CRET|Testa/);
  expect(text).toContain('Testesen');
  const texts = [reader, usersReader()].map((each) => refused(each.read(['Testa'])).text);
  expect(texts).toEqual([null, '["Testa"]']);
});

it('of a pseudonymised field the original value appears nowhere, and another key makes another pseudonym', () => {
  const pseudonymise = ['givenName', 'primaryOrg', 'agents', 'userIds', 'enabledUser', 'national'];
  const reader = usersReader({ pseudonymise, pseudonymiseKey: KEY });
  const names = { givenName: 'Testa', familyName: null, enabledUser: true, national: 'Testa' };
  const { value } = readable(
    reader.read({
      sourcedId: 'user-1',
      ...names,
      primaryOrg: { ...reference('org', 'school-1'), name: 'Testa' },
      agents: [reference('user', 'guardian-1')],
      userIds: [{ type: 'x', identifier: 'Testa' }],
    }),
  );
  const nulls = { familyName: null, userIds: null, enabledUser: null };
  expect(value).toMatchObject({
    ...nulls,
    givenName: hmac('Testa'),
    primaryOrg: { sourcedId: hmac('school-1'), type: 'org', href: null },
    agents: [{ sourcedId: hmac('guardian-1'), type: 'user', href: null }],
  });
  expect({ ...value.additionalFields }).toEqual({
    userIds: JSON.stringify([hmac('{"identifier":"Testa","type":"x"}')]),
    enabledUser: JSON.stringify(hmac('true')),
    national: JSON.stringify(hmac('Testa')),
  });
  expect(refused(reader.read({ givenName: 'Testa', national: 'Testa' })).text).not.toContain('Testa');
  const other = readable(usersReader({ pseudonymise, pseudonymiseKey: 'another key' }).read(USER)).value;
  expect(other['givenName']).not.toBe(hmac('Testa'));
});

it('a mapping that changes, not only in its order, changes every hash, and is refused if its key is missing', () => {
  const mappings = [
    {},
    { mappingVersion: 2 },
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
  expect(one.value).toMatchObject({ email: 'a@school.example', additionalFields: { metadata: '{"a":1}' } });
  expect(hashOf(reader, { ...USER, phone: '5' })).not.toBe(one.hash.toString('hex'));
});
