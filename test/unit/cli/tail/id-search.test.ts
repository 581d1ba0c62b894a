import { expect, it } from 'vitest';
import { jsonLine, searchFor } from '../../../../src/cli/tail.ts';
import { stateTexts } from '../../../../src/cli/tail/state-texts.ts';
import { encodeAbsent } from '../../../../src/core/absences/current-absence.ts';
import { encodeEntry, encodePointer } from '../../../../src/core/absences/entry-codec.ts';
import { compositeKey } from '../../../../src/model/keys.ts';

it.each([
  ['as a value', '42', { user: { sourcedId: '42' } }],
  ['within a text', '42', { href: 'https://hub.example/users/42?x=1' }],
  ['as a number', '42', { sourcedId: 42 }],
  ['as the name of a field', '42', { metadata: { 42: true } }],
  ['in a list', '42', [['41'], ['42']]],
  ['in a row that is kept as JSON, after a line break', '42', { row: '{"comment":"see\\n42"}' }],
  ['in a row whose letters are escaped', 'bjørn', { row: '{"sourcedId":"bj\\u00f8rn"}' }],
  ['in a composite key', 'a|b%', compositeKey('a|b%', '2026-11-20')],
  ['with characters that mean something in a pattern', 'a.(b', { id: 'a.(b' }],
])('tail --about finds an id %s', (_where, id, value) => {
  expect(searchFor(id).isIn(value)).toBe(true);
});

const MEMBER = {
  state: 'present',
  isDeleted: false,
  isContinued: false,
  hasRefusedLink: false,
  namesSuccessor: false,
} as const;
const UUID = '00d3a7b2-4c1e-4f0e-9d55-0a1b2c3d4e5f';
const entryOf = (id: string) =>
  encodeEntry('a', {
    student: 42,
    members: [
      { ...MEMBER, id: 'a' },
      { ...MEMBER, id },
    ],
    published: { step: 42, versionId: 'a', isDeleted: false },
    isOpen: false,
    continuedBy: null,
  });

it.each([
  ['in an entry, packed', UUID, 'absences/a', entryOf(UUID)],
  ['in an entry, as text', '42', 'absences/a', entryOf('42')],
  ['in a pointer', '42', 'pointers/a', encodePointer('42')],
  ['as the student of an absence', '42', 'absent/a', encodeAbsent({ studentId: '42', fromMs: 0, toMs: 0 })],
  ['in a record that is kept', '42', 'bodies/a', Buffer.from('{"value":{"sourcedId":"42"}}')],
])('tail --about finds an id in absence-state: %s', (_where, id, key, value) => {
  expect(searchFor(id).isIn(stateTexts(key, value))).toBe(true);
});

it.each([
  ['a longer id in an entry', 'absences/a', entryOf('142')],
  ['a longer id in a pointer', 'pointers/a', encodePointer('42a')],
  ['the number of a step, or the hash of a student', 'absences/a', entryOf('b')],
  ['a day', 'ended/a', Buffer.from('  42')],
])('tail --about does not take other bytes for the id: %s', (_what, key, value) => {
  expect(searchFor('42').isIn(stateTexts(key, value))).toBe(false);
});

it('tail --about searches the bytes of an entry of absence-state that cannot be decoded', () => {
  expect(stateTexts('absences/a', Buffer.from('42'))).toBeUndefined();
  expect(searchFor('42').isInBytes(Buffer.from('42'))).toBe(true);
});

it.each([
  ['142', '42'],
  ['42a', '42'],
  ['a-4b', 'a.4b'],
  // Its place in the list is no id.
  [['7', '8'], '1'],
])('tail --about does not take %s for the id %s', (value, id) => {
  expect(searchFor(id).isIn({ value })).toBe(false);
});

it('tail prints a record as the same JSON, but without characters that control a terminal', () => {
  const record = { key: 'a\u001B[2J\nb\u009B2J\u202Ec', value: { name: 'bjørn 🎓' } };
  const line = jsonLine(record);
  // oxlint-disable-next-line no-control-regex -- these are the characters that must not be there
  expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  expect(line).toContain('bjørn 🎓');
  expect(JSON.parse(line)).toEqual(record);
});
