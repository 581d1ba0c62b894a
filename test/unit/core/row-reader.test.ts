import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { versionRowOf, type AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import { parseLossless } from '../../../src/core/rows/lossless-json.ts';
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
import type { Fields } from './support/rows.ts';
import { forMany } from '../support/for-all.ts';

const users = usersReader();
const absences = absencesReader();

function userWith(fields: object): Fields {
  return readable(users.read({ sourcedId: 'user-1', ...fields })).value;
}

const LONG = '12345678901234567890';
const ALONE = { sourcedId: ' a', type: null, href: null };
const at = (text: string): number => Date.parse(text);

it('true and false are read from each spelling that hubs use', () => {
  for (const [typed, ...all] of [
    [true, true, 'true', 'TRUE', 1],
    [false, false, 'False', 0],
  ])
    for (const raw of all) {
      const { enabledUser, additionalFields } = userWith({ enabledUser: raw });
      expect([raw, enabledUser, additionalFields]).toEqual([raw, typed, null]);
    }
});

it.each<[field: string, typed: unknown, ...all: unknown[]]>([
  ['email', null, 5, '\ud800'],
  ['enabledUser', null, 'yes', 2],
  ['grades', null, '8', ['8', 9]],
  ['primaryOrg', null, 'school-1', { type: 'org' }, { sourcedId: ' ' }, { sourcedId: 5 }],
  ['agents', null, [{ sourcedId: 'a' }, {}]],
  ['dateLastModified', null, '2026-03-04T08:00:00', 1_772_611_200_000],
  ['primaryOrg', ALONE, { sourcedId: ' a', name: 'b' }, { sourcedId: ' a', type: 5 }],
  ['dateLastModified', at('2026-03-04T08:00:00.123Z'), '2026-03-04T08:00:00.123456Z'],
  ['userIds', [{ type: 'a', identifier: null }], [{ type: 'a', identifier: 5 }]],
  [
    'roles',
    [expect.objectContaining({ role: 'a', beginDate: null })],
    [{ role: 'a', beginDate: '0001-01-01' }],
  ],
  ['constructor', undefined, 2],
  ['additionalFields', JSON.stringify({ additionalFields: { b: 4 } }), { b: 4 }],
  ['\ud800', undefined, 1],
])(
  'a value of $0 that does not fit its field is published as text in additionalFields',
  (field, typed, ...all) => {
    for (const raw of all) {
      const value = userWith({ [field]: raw });
      const own = Object.hasOwn(value, field) ? value[field] : undefined;
      expect([own, value.additionalFields]).toEqual([typed, JSON.stringify({ [field]: raw })]);
    }
  },
);

it('a number in a row that a double cannot hold keeps its digits as text', () => {
  const row = parseLossless('{"sourcedId":"a","score":0.12345678901234567890,"n":[12345678901234567890]}');
  const value = readable(absencesReader({ schema: schemaOf('results'), strictFields: [] }).read(row)).value;
  expect(value['score']).toBeNull();
  expect(value.additionalFields).toBe(`{"n":[${LONG}],"score":0.12345678901234567890}`);
  const misfits = parseLossless(`{"sourcedId":"a","primaryOrg":${LONG},"userIds":[${LONG}]}`);
  expect(readable(users.read(misfits)).value).toMatchObject({ primaryOrg: null, userIds: null });
});

it('additional fields are one JSON text in the order of their names, whatever their order at the hub', () => {
  const texts = [
    '"2":[],"__proto__":{"a":1},"x":"b","10":{"d":1,"c":2}',
    '"x":"b","10":{"d":1,"c":2},"__proto__":{"a":1},"2":[]',
  ];
  for (const text of texts) {
    const { value } = readable(users.read(parseLossless(`{"sourcedId":"a",${text}}`)));
    expect(value.additionalFields).toBe('{"10":{"d":1,"c":2},"2":[],"__proto__":{"a":1},"x":"b"}');
  }
});

it('a value of a row stays what it was when the next row is read', () => {
  const first = readable(users.read(USER));
  const [hash, body] = [first.hash.toString('hex'), users.encode(first.value)];
  const before = Buffer.from(body);
  users.encode(readable(users.read({ ...USER, familyName: 'x'.repeat(100_000) })).value);
  expect([first.hash.toString('hex'), body.equals(before)]).toEqual([hash, true]);
});

it.each([[null], ['text'], [[{ sourcedId: 'a' }]], [parseLossless(LONG)]])(
  'the row %j, which is no object, is rejected',
  (row) => {
    expect(refused(users.read(row))).toMatchObject({ sourcedId: null, reason: 'the row is not an object' });
  },
);

it.each([undefined, '', ' \t', 5, ['a'], '\udc00'])(
  'a row with the sourcedId %j is rejected under a hash in place of an id',
  (sourcedId) => {
    const reading = refused(users.read({ sourcedId, givenName: 'Testa' }));
    expect([reading.sourcedId, reading.rejectId]).toEqual([
      null,
      expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    ]);
    expect(reading.reason).toContain('`sourcedId`');
    expect(reading.reason).not.toContain('Testa');
  },
);

it.each([
  [{ fromTime: 'in the morning' }],
  [{ fromTime: '2026-03-04T08:00:00' }],
  [{ toTime: null }],
  [{ deletedTime: 'yes' }],
  [{ replaces: 'absence-0' }],
  [{ replacedBy: { sourcedId: '' } }],
  [{ fromTime: 1, toTime: 2, replaces: 2 }],
])('an absence with %j is rejected; the reason has no value', (fields) => {
  const row = { ...ABSENCE, ...fields };
  const reading = refused(absences.read(row));
  const id = 'absence-1';
  expect(reading).toMatchObject({ sourcedId: id, rejectId: id, text: JSON.stringify(row) });
  for (const field of Object.keys(fields)) expect(reading.reason).toContain(`\`${field}\``);
  expect(reading.reason).not.toContain('morning');
});

it.each([
  { deletedTime: '' },
  { deletedTime: '2026-03-04T08:00:00.123456+01:00' },
  { replaces: { ...reference('absence', 'absence-0'), extra: 1 }, replacedBy: null },
  { student: 'x', school: 'y', absenceDurationValue: '45' },
])('an absence with empty, precise or unusual values is accepted (case %$)', (fields) => {
  expect(absences.read({ ...ABSENCE, ...fields }).kind).toBe('row');
});

it('an absence whose deletedTime is the "no value" of a program is not deleted', () => {
  for (const deletedTime of ['0001-01-01T00:00:00', '0001-01-01T00:00:00+01:00', '0000-12-31T23:00:00Z']) {
    const { value, hash } = readable(absences.read({ ...ABSENCE, deletedTime }));
    expect(value).toMatchObject({ deletedTime: null, additionalFields: null });
    expect(versionRowOf(value as unknown as AbsenceVersionValue, null).isDeleted).toBe(false);
    expect(hash).toEqual(readable(absences.read(ABSENCE)).hash);
  }
});

it('an absence names its only school, and a schoolId of the hub is an unknown field', () => {
  const [one, other] = [reference('org', 'a'), reference('org', 'b')];
  const valueOf = (school: unknown, reader = absences) =>
    readable(reader.read({ ...ABSENCE, school, schoolId: 'the hub' })).value;
  const ids = [null, [], [one], [one, one], [one, other], 'a'].map((school) => valueOf(school)['schoolId']);
  expect(ids).toEqual([null, null, 'a', 'a', null, null]);
  expect(valueOf([one]).additionalFields).toBe('{"schoolId":"the hub"}');
  expect(valueOf([one], absencesReader({ drop: ['school'] }))['schoolId']).toBeNull();
  const masked = absencesReader({ pseudonymise: ['school'], pseudonymiseKey: 'key' });
  const { school, schoolId } = valueOf([one], masked);
  expect(schoolId).toBe((school as { sourcedId: string }[])[0]?.sourcedId);
  expect(schoolId).not.toBe('a');
  const ignoring = absencesReader({ ignore: ['school'] });
  expect(hashOf(ignoring, { ...ABSENCE, school: [one] })).toBe(
    hashOf(ignoring, { ...ABSENCE, school: [other] }),
  );
});

it.each([
  ['a time', { dateLastModified: 'T' }],
  ['a time that ms cannot hold', { dateLastModified: 'T.123456' }],
  ['a time in an unknown field', { entered: 'T', more: { at: ['T.5', 'T+01:00'] } }],
  ['a time in a field of another type', { email: ['T'], grades: 'T' }],
  ['a time in a row that cannot be read', { roles: null, entered: { at: 'T' }, familyName: 5 }],
])('%s with +00:00 is published and hashed like the same time with Z', (_what, fields) => {
  const read = (zone: string) => {
    const text = JSON.stringify({ sourcedId: 'a', ...fields }).replaceAll(
      /T(\.\d+)?"/g,
      `2026-03-04T08:00:00$1${zone}"`,
    );
    const row = JSON.parse(text) as object;
    return [
      users.read(row),
      users.reject(row, 'unreadable'),
      users.reject({ ...row, sourcedId: null }, 'nameless'),
    ];
  };
  expect(read('+00:00')).toEqual(read('Z'));
  expect(JSON.stringify(read('+00:00'))).not.toContain('+00:00');
  expect(read('+01:00')).not.toEqual(read('Z'));
});

it('the hash of a reject changes with its content, not with a re-stamp, an href or an order', () => {
  const rejectOf = (row: object) => refused(users.read({ b: 1, a: reference('x', 'y'), ...row }));
  const reject = rejectOf({ grades: ['8', '9'] });
  const a = { ...reference('x', 'y'), href: 'h' };
  const moved = { grades: ['9', '8'], a, b: 1, dateLastModified: 'z' };
  expect(rejectOf(moved).hash).toEqual(reject.hash);
  expect(rejectOf({ a, grades: ['8', '9'] }).rejectId).not.toBe(reject.rejectId);
  expect(rejectOf({ dateLastModified: 'z', grades: ['8', '9'] }).rejectId).toBe(reject.rejectId);
  for (const changed of [rejectOf({ ...moved, b: 2 }), rejectOf({ grades: ['9'] })]) {
    expect(changed.rejectId).not.toBe(reject.rejectId);
    expect(changed.hash).not.toEqual(reject.hash);
  }
});

it('any JSON is a row or a reject, and the same at every reading', () => {
  const names = fc.constantFrom(...Object.keys(ABSENCE), 'deletedTime', '__proto__', 'metadata');
  const values = fc.oneof(fc.constantFrom('a', 'b'), fc.jsonValue());
  const rows = fc.oneof(fc.jsonValue(), fc.dictionary(names, values), fc.array(fc.jsonValue()));
  forMany(300, [rows], (row) => {
    for (const reader of [users, absences]) {
      const reading = reader.read(row);
      if (reading.kind === 'row') expect(reader.encode(reading.value).length).toBeGreaterThan(0);
      expect(reading.hash).toHaveLength(16);
      expect(reader.read(row)).toEqual(reading);
    }
  });
});

it('a row too large for a record becomes a reject, and a row too large for that one without its text', () => {
  const reader = usersReader({ maxRecordBytes: 10_000 });
  const exact = (length: number): object => ({ sourcedId: 'a', email: 'x'.repeat(length) });
  const overhead = reader.encode(readable(reader.read(exact(9000))).value).length - 9000;
  expect(reader.read(exact(10_000 - overhead)).kind).toBe('row');
  expect(refused(reader.read(exact(10_001 - overhead)))).toMatchObject({
    sourcedId: 'a',
    rejectId: 'a',
    text: expect.any(String) as string,
  });
  const huge = [
    { metadata: 'æ'.repeat(6000) },
    { [`name${'x'.repeat(11_000)}`]: 1 },
    { grades: Array.from({ length: 20_000 }, () => '') },
    { agents: Array.from({ length: 6000 }, () => ({ sourcedId: 'b' })) },
  ];
  for (const row of huge) expect(refused(reader.read({ sourcedId: 'a', ...row })).text).toBeNull();
});
