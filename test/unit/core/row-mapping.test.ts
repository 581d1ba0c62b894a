import { createHmac } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { hashOf, readable, reference, refused, USER, usersReader } from './support/rows.ts';

const KEY = 'a key for tests';

function hmac(text: string): string {
  return createHmac('sha256', KEY).update(text).digest('hex');
}

describe('drop', () => {
  it('a dropped field is neither published nor hashed, nor kept in a reject', () => {
    const reader = usersReader({ drop: ['givenName', 'metadata', '__proto__'] });
    const row = { ...USER, metadata: { secret: 'S3CRET' } };
    Object.defineProperty(row, '__proto__', { value: 'S3CRET', enumerable: true });
    const reading = readable(reader.read(row));
    expect(reading.value).toMatchObject({ givenName: null, additionalFields: {} });
    expect(hashOf(reader, { ...row, givenName: 'Another' })).toBe(reading.hash.toString('hex'));
    const reject = refused(reader.read({ ...row, sourcedId: 5 }));
    expect(reject.text).not.toMatch(/S3CRET|Testa/);
    expect(reject.text).toContain('Testesen');
  });

  it('the text of a row that is no object is kept only if no field is dropped', () => {
    expect(refused(usersReader({ drop: ['givenName'] }).read(['Testa'])).text).toBeNull();
    expect(refused(usersReader().read(['Testa'])).text).toBe('["Testa"]');
  });
});

describe('pseudonymise', () => {
  const names = ['givenName', 'primaryOrg', 'agents', 'userIds', 'enabledUser', 'national'];
  const reader = usersReader({ pseudonymise: names, pseudonymiseKey: KEY });

  it('the original value appears nowhere', () => {
    const { value } = readable(
      reader.read({
        sourcedId: 'user-1',
        givenName: 'Testa',
        familyName: null,
        primaryOrg: { ...reference('org', 'school-1'), name: 'Testa' },
        agents: [reference('user', 'guardian-1')],
        userIds: [{ type: 'x', identifier: 'Testa' }],
        enabledUser: true,
        national: 'Testa',
      }),
    );
    expect(value).toMatchObject({
      givenName: hmac('Testa'),
      familyName: null,
      primaryOrg: { sourcedId: hmac('school-1'), type: 'org', href: null },
      agents: [{ sourcedId: hmac('guardian-1'), type: 'user', href: null }],
      userIds: null,
      enabledUser: null,
    });
    expect({ ...value.additionalFields }).toEqual({
      userIds: JSON.stringify([hmac('{"identifier":"Testa","type":"x"}')]),
      enabledUser: JSON.stringify(hmac('true')),
      national: JSON.stringify(hmac('Testa')),
    });
    expect(refused(reader.read({ givenName: 'Testa', national: 'Testa' })).text).not.toContain('Testa');
  });

  it('another key makes another pseudonym', () => {
    const other = usersReader({ pseudonymise: names, pseudonymiseKey: 'another key' });
    expect(readable(other.read(USER)).value['givenName']).not.toBe(
      readable(reader.read(USER)).value['givenName'],
    );
  });
});

describe('a mapping that changes', () => {
  it('changes every hash, and so publishes every row again', () => {
    const mappings = [
      {},
      { mappingVersion: 2 },
      { drop: ['comment'] },
      { ignore: ['comment'] },
      { pseudonymise: ['comment'], pseudonymiseKey: KEY },
      { drop: ['comment', 'sms'] },
    ];
    const hashes = mappings.map((mapping) => hashOf(usersReader(mapping), USER));
    expect(new Set(hashes).size).toBe(mappings.length);
    const rejects = mappings.map((mapping) => refused(usersReader(mapping).read({})).hash.toString('hex'));
    expect(new Set(rejects).size).toBe(mappings.length);
  });

  it('does not depend on the order of its lists', () => {
    expect(hashOf(usersReader({ drop: ['sms', 'comment'] }), USER)).toBe(
      hashOf(usersReader({ drop: ['comment', 'sms'] }), USER),
    );
  });

  it('is refused if its key is missing', () => {
    expect(() => usersReader({ pseudonymise: ['givenName'] })).toThrow('key');
  });
});

describe('ignore', () => {
  it('a change of an ignored field does not change the hash, and the field is published', () => {
    const reader = usersReader({ ignore: ['email', 'metadata', 'roles'] });
    const one = readable(reader.read({ ...USER, email: 'a@school.example', metadata: { a: 1 } }));
    const other = readable(
      reader.read({ ...USER, email: 'b@school.example', metadata: { a: 2 }, roles: [] }),
    );
    expect(other.hash).toEqual(one.hash);
    expect(one.value).toMatchObject({ email: 'a@school.example', additionalFields: { metadata: '{"a":1}' } });
    expect(hashOf(reader, { ...USER, phone: '5' })).not.toBe(one.hash.toString('hex'));
  });
});
