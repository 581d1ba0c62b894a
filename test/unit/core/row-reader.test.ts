import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { versionRowOf, type AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import { parseLossless } from '../../../src/core/lossless-json.ts';
import { createRowReader } from '../../../src/core/row-reader.ts';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import {
  ABSENCE,
  absencesReader,
  readable,
  reference,
  refused,
  schemaOf,
  USER,
  usersReader,
} from './support/rows.ts';
import type { Fields } from './support/rows.ts';

const users = usersReader();
const absences = absencesReader();

function userWith(fields: object): Fields {
  return readable(users.read({ sourcedId: 'user-1', ...fields })).value;
}

const LONG = '12345678901234567890';
const NO_ROLE = { beginDate: null, endDate: null, org: null, role: null, roleType: null, userProfile: null };

function texts(value: Fields): Record<string, string> {
  return { ...value.additionalFields };
}

describe('a row that fits', () => {
  it('reading leaves the row and earlier decoded rows unchanged', () => {
    const row = structuredClone({ ...USER, metadata: { a: 1 } });
    const first = readable(users.read(row));
    const before = structuredClone({ hash: first.hash.toString('hex'), body: users.encode(first.value) });
    const body = users.encode(first.value);
    const second = readable(users.read({ ...USER, sourcedId: 'user-2', familyName: 'x'.repeat(100_000) }));
    users.encode(second.value);
    expect(row).toEqual({ ...USER, metadata: { a: 1 } });
    expect(first.hash.toString('hex')).toBe(before.hash);
    expect(body.equals(before.body)).toBe(true);
  });

  it('a boolean is read in each spelling that hubs use', () => {
    for (const [is, spellings] of [
      [true, [true, 'true', 'TRUE', 'True', 1]],
      [false, [false, 'false', 'False', 0]],
    ] as const)
      for (const enabledUser of spellings)
        expect(userWith({ enabledUser })).toMatchObject({ enabledUser: is, additionalFields: {} });
  });
});

describe('a value that does not fit', () => {
  it.each([
    ['email', [5, '\ud800']],
    ['enabledUser', ['yes', 2]],
    ['grades', ['8', ['8', 9]]],
    ['primaryOrg', ['school-1', { type: 'org' }, { sourcedId: ' ' }, { sourcedId: 5 }]],
    ['agents', [[{ sourcedId: 'a' }, {}]]],
    ['dateLastModified', ['2026-03-04T08:00:00', 1_772_611_200_000]],
  ])('%s: of %j each is null, and its text is kept', (field, all) => {
    for (const raw of all) {
      const value = userWith({ [field]: raw });
      expect(value[field]).toBeNull();
      expect(texts(value)).toEqual({ [field]: JSON.stringify(raw) });
    }
  });

  it.each([
    ['primaryOrg', { sourcedId: 'a', name: 'b' }, { sourcedId: 'a', type: null, href: null }],
    ['primaryOrg', { sourcedId: 'a', type: 5 }, { sourcedId: 'a', type: null, href: null }],
    ['dateLastModified', '2026-03-04T08:00:00.123456Z', Date.parse('2026-03-04T08:00:00.123Z')],
    ['dateLastModified', '2026-03-04T08:00:00+01:00', Date.parse('2026-03-04T07:00:00Z')],
    ['userIds', [{ type: 'a', identifier: 5 }], [{ type: 'a', identifier: null }]],
    ['roles', [{ role: 'a', beginDate: '0001-01-01' }], [{ ...NO_ROLE, role: 'a' }]],
  ])('%s: of %j the typed part is read, and its text is kept', (field, raw, typed) => {
    const value = userWith({ [field]: raw });
    expect(value[field]).toEqual(typed);
    expect(texts(value)).toEqual({ [field]: JSON.stringify(raw) });
  });

  it('a number that a double cannot hold keeps its digits as text', () => {
    const row = parseLossless('{"sourcedId":"a","score":0.12345678901234567890,"n":[12345678901234567890]}');
    const value = readable(absencesReader({ schema: schemaOf('results'), strictFields: [] }).read(row)).value;
    expect(value['score']).toBeNull();
    expect(texts(value)).toEqual({ score: '0.12345678901234567890', n: '[12345678901234567890]' });
    const odd = parseLossless(`{"sourcedId":"a","primaryOrg":${LONG},"userIds":[${LONG}]}`);
    expect(readable(users.read(odd)).value).toMatchObject({ primaryOrg: null, userIds: null });
  });

  it('a field called `constructor` or `additionalFields` is kept, and one called `__proto__` makes a reject', () => {
    const names = { constructor: 2, toString: '3', additionalFields: { b: 4 }, hasOwnProperty: 5 };
    const kept = Object.entries(names).map(([name, value]) => [name, JSON.stringify(value)]);
    expect(texts(userWith(names))).toEqual(Object.fromEntries(kept));
    const odd = JSON.parse('{"sourcedId":"a","__proto__":{"a":1}}') as object;
    expect(refused(users.read(odd)).reason).toContain('`__proto__`');
    const nested = JSON.parse('{"sourcedId":"org","__proto__":{"type":"x"},"constructor":1}') as object;
    expect(texts(userWith({ primaryOrg: nested }))).toEqual({ primaryOrg: JSON.stringify(nested) });
  });
});

describe('a row that cannot be read', () => {
  it.each([[null], [[]], ['text'], [5], [[{ sourcedId: 'a' }]], [parseLossless('12345678901234567890')]])(
    '%j, which is no object, is rejected',
    (row) => {
      expect(refused(users.read(row))).toMatchObject({ sourcedId: null, reason: 'the row is not an object' });
    },
  );

  it.each([undefined, null, '', ' \t', 5, {}, ['a'], '\udc00'])(
    'sourcedId %j is rejected, under a hash as its id',
    (sourcedId) => {
      const reading = refused(users.read({ sourcedId, givenName: 'Testa' }));
      expect(reading.sourcedId).toBeNull();
      expect(reading.rejectId).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(reading.reason).toContain('`sourcedId`');
      expect(reading.reason).not.toContain('Testa');
    },
  );

  it.each([
    ['fromTime', 'in the morning'],
    ['fromTime', '2026-03-04T08:00:00'],
    ['toTime', null],
    ['deletedTime', 'yes'],
    ['replaces', 'absence-0'],
    ['replacedBy', [reference('absence', 'a')]],
    ['replacedBy', { sourcedId: '' }],
  ])('an absence whose %s is %j is rejected', (field, raw) => {
    const row = { ...ABSENCE, [field]: raw };
    const reading = refused(absences.read(row));
    const id = 'absence-1';
    expect(reading).toMatchObject({ sourcedId: id, rejectId: id, text: JSON.stringify(row) });
    expect(reading.reason).toContain(`\`${field}\``);
    expect(reading.reason).not.toContain('morning');
  });

  it.each([
    { deletedTime: '' },
    { deletedTime: null },
    { deletedTime: '2026-03-04T08:00:00.123456+01:00' },
    { fromTime: '2026-03-04T08:00:00+01:00' },
    { replaces: { sourcedId: 'absence-0' }, replacedBy: null },
    { replaces: { ...reference('absence', 'absence-0'), extra: 1 } },
    { student: 'x', school: 'y', absenceDurationValue: '45' },
  ])('an absence with %j is accepted', (fields) => {
    expect(absences.read({ ...ABSENCE, ...fields }).kind).toBe('row');
  });

  it('an absence whose deletedTime is the "no value" of a program is not deleted', () => {
    for (const deletedTime of ['0001-01-01T00:00:00', '0001-01-01T00:00:00+01:00', '0000-12-31T23:00:00Z']) {
      const { value, hash } = readable(absences.read({ ...ABSENCE, deletedTime }));
      expect(value).toMatchObject({ deletedTime: null, additionalFields: {} });
      expect(versionRowOf(value as unknown as AbsenceVersionValue, null).isDeleted).toBe(false);
      expect(hash).toEqual(readable(absences.read(ABSENCE)).hash);
    }
  });

  it.each(ROW_COLLECTIONS)(
    'no field of %s holds a time that not every reader can: it is kept as text',
    (name) => {
      const schema = schemaOf(name);
      const types = schema.fields.map(({ name: field, type }) => [field, JSON.stringify(type)] as const);
      const times = types.filter(
        ([, type]) => /"timestamp-millis"|"date"/.test(type) && !/"(record|array)"/.test(type),
      );
      for (const text of ['0001-01-01', '0001-01-01T00:00:00+01:00', '9999-12-31T23:30:00-01:00']) {
        const fields = Object.fromEntries(times.map(([field]) => [field, text]));
        const { value } = readable(createRowReader({ schema }).read({ sourcedId: 'row-1', ...fields }));
        expect(texts(value)).toEqual(
          Object.fromEntries(times.map(([field]) => [field, JSON.stringify(text)])),
        );
        for (const [field] of times) expect(value[field]).toBeNull();
      }
    },
  );

  it('the reason names every problem', () => {
    const { reason } = refused(absences.read({ fromTime: 1, replaces: 2 }));
    for (const field of ['sourcedId', 'fromTime', 'toTime', 'replaces'])
      expect(reason).toContain(`\`${field}\``);
  });

  it('a re-stamp, an href, the order of keys or of a set does not change a reject, and another content does', () => {
    const rejectOf = (row: object) => refused(users.read({ b: 1, a: reference('x', 'y'), ...row }));
    const reject = rejectOf({ grades: ['8', '9'] });
    const moved = {
      grades: ['9', '8'],
      a: { ...reference('x', 'y'), href: 'h' },
      b: 1,
      dateLastModified: 'z',
    };
    expect(rejectOf(moved).hash).toEqual(reject.hash);
    expect(rejectOf({ dateLastModified: 'z', grades: ['8', '9'] }).rejectId).toBe(reject.rejectId);
    for (const changed of [rejectOf({ ...moved, b: 2 }), rejectOf({ grades: ['9'] })]) {
      expect(changed.rejectId).not.toBe(reject.rejectId);
      expect(changed.hash).not.toEqual(reject.hash);
    }
  });

  it('a field name that UTF-8 cannot hold is rejected, and the text keeps it apart from others', () => {
    expect(refused(users.read({ sourcedId: 'a', '\ud800': 1 }))).toMatchObject({
      sourcedId: 'a',
      text: '{"sourcedId":"a","\\ud800":1}',
    });
  });

  it('any JSON is a row or a reject, and the same at every reading', () => {
    const names = fc.constantFrom(...Object.keys(ABSENCE), 'deletedTime', '__proto__', 'metadata');
    const ids = { arbitrary: fc.constantFrom('a', 'b'), weight: 1 };
    const values = fc.oneof(ids, { arbitrary: fc.jsonValue(), weight: 1 });
    const rows = fc.oneof(fc.jsonValue(), fc.dictionary(names, values), fc.array(fc.jsonValue()));
    fc.assert(
      fc.property(rows, (row) => {
        for (const reader of [users, absences]) {
          const reading = reader.read(row);
          const bytes =
            reading.kind === 'row' ? reader.encode(reading.value).length : reading.rejectId.length;
          expect(bytes).toBeGreaterThan(0);
          expect(reading.hash).toHaveLength(16);
          expect(reader.read(row)).toEqual(reading);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('a row that is too large for a record is rejected, and one far too large loses its text', () => {
    const reader = usersReader({ maxRecordBytes: 10_000 });
    const exact = (length: number): object => ({ sourcedId: 'a', email: 'x'.repeat(length) });
    const overhead = reader.encode(readable(reader.read(exact(9000))).value).length - 9000;
    expect(reader.read(exact(10_000 - overhead)).kind).toBe('row');
    expect(refused(reader.read(exact(10_001 - overhead)))).toMatchObject({ sourcedId: 'a', rejectId: 'a' });
    expect(refused(reader.read(exact(10_001 - overhead))).text).not.toBeNull();
    const huge = [
      exact(200_000),
      { sourcedId: 'a', metadata: 'æ'.repeat(6000) },
      { sourcedId: 'a', [`name${'x'.repeat(11_000)}`]: 1 },
      { sourcedId: 'a', grades: Array.from({ length: 20_000 }, () => '') },
      { sourcedId: 'a', agents: Array.from({ length: 6000 }, () => ({ sourcedId: 'b' })) },
    ];
    for (const row of huge) expect(refused(reader.read(row)).text).toBeNull();
  });
});
