import { expect, it } from 'vitest';
import { IdSearch, jsonLine } from '../../../../src/cli/tail.ts';
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
  expect(new IdSearch(id).isIn(value)).toBe(true);
});

it.each([
  ['a UUID, packed', '00d3a7b2-4c1e-4f0e-9d55-0a1b2c3d4e5f', '00d3a7b24c1e4f0e9d550a1b2c3d4e5f'],
  ['another id, as text', 'id-of-no-uuid', Buffer.from('id-of-no-uuid').toString('hex')],
])('tail --about finds an id in an entry of absence-state: %s', (_what, id, hex) => {
  const entry = Buffer.from(`10480203${hex}0a`, 'hex');
  expect(new IdSearch(id).isInBytes(entry)).toBe(true);
  expect(new IdSearch('11d3a7b2-4c1e-4f0e-9d55-0a1b2c3d4e5f').isInBytes(entry)).toBe(false);
});

it.each([
  ['142', '42'],
  ['42a', '42'],
  ['a-4b', 'a.4b'],
])('tail --about does not take %s for the id %s', (value, id) => {
  expect(new IdSearch(id).isIn({ value })).toBe(false);
});

it('tail prints a record as the same JSON, but without characters that control a terminal', () => {
  const record = { key: 'a\u001B[2J\nb\u009B2J\u202Ec', value: { name: 'bjørn 🎓' } };
  const line = jsonLine(record);
  // oxlint-disable-next-line no-control-regex -- these are the characters that must not be there
  expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  expect(line).toContain('bjørn 🎓');
  expect(JSON.parse(line)).toEqual(record);
});
