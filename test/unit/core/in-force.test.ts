import { expect, it } from 'vitest';
import type { RowReader } from '../../../src/core/decoded-row.ts';
import { inForce } from '../../../src/core/in-force.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { ABSENCE, absencesReader, type Fields, readable, schemaOf } from './support/rows.ts';

const MASK = { pseudonymise: ['student'], drop: ['school', 'absenceDurationValue', 'note'] };
const plain = absencesReader();
const masked = absencesReader({ ...MASK, pseudonymiseKey: 'a key of sixteen or more' });
const ROW = { ...ABSENCE, note: 'ill', absenceDurationValue: 45 };
const codec = createValueCodec<Fields>(schemaOf('absence-versions'));

/** Decodes a published value as a consumer or Rollcall does. */
function logged(reader: RowReader): { value: Fields; mapping: string | null } {
  const { value } = readable(reader.read(ROW));
  return { value: codec.fromBuffer(reader.encode(value)), mapping: reader.mapping ?? null };
}

it('a value written under another mapping has the value and hash of the current one', () => {
  const fresh = readable(masked.read(ROW));
  const found = inForce(masked, logged(plain));
  expect(found.hash).toEqual(fresh.hash);
  expect(JSON.stringify(found.value)).toBe(JSON.stringify({ ...fresh.value }));
  expect(JSON.stringify(found.value)).not.toContain('student-1');
});

it('a value written under the current mapping, or where that takes nothing out, stays as it is', () => {
  const record = logged(masked);
  for (const reader of [masked, plain])
    expect(inForce(reader, record)).toEqual({ value: record.value, hash: null });
});

it('a value with an unknown mapping, or pseudonymised under another key, is masked, if need be a second time', () => {
  const again = (value: object, mapping: string | null = null) =>
    inForce(masked, { value, mapping }).value as Fields;
  const found = again(logged(plain).value);
  expect(found).toMatchObject({ student: readable(masked.read(ROW)).value['student'], school: null });
  expect(again(found)['student']).not.toEqual(found['student']);
  const other = logged(absencesReader({ ...MASK, pseudonymiseKey: 'another key of sixteen' }));
  expect(again(other.value, other.mapping)['student']).not.toEqual(other.value['student']);
});

it('a value that cannot be decoded under the current mapping keeps only its id', () => {
  const value = { ...logged(plain).value, fromTime: null };
  expect(inForce(masked, { value, mapping: null }).value).toEqual({ sourcedId: 'absence-1' });
});
