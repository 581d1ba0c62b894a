import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { inForce } from '../../../src/core/in-force.ts';
import { createRowReader } from '../../../src/core/row-reader.ts';
import type { RowReader } from '../../../src/core/decoded-row.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { arbitraryRow } from './support/arbitrary-rows.ts';
import { ABSENCE, absencesReader, type Fields, readable, schemaOf } from './support/rows.ts';

const MASK = { pseudonymise: ['student'], drop: ['school', 'absenceDurationValue', 'note'] };
const KEY = 'a key of sixteen or more';
const plain = absencesReader();
const masked = absencesReader({ ...MASK, pseudonymiseKey: KEY });
const ROW = { ...ABSENCE, note: 'ill', absenceDurationValue: 45 };

/** Decodes a published value as a consumer or Rollcall does. */
function logged(reader: RowReader, row: unknown = ROW): { value: Fields; mapping: string | null } {
  const { value } = readable(reader.read(row));
  const codec = createValueCodec<Fields>(schemaOf('absence-versions'));
  return { value: codec.fromBuffer(reader.encode(value)), mapping: reader.mapping ?? null };
}

describe('a value that is read back from the log', () => {
  it('written under another mapping, it has the value and hash of the current mapping', () => {
    const fresh = readable(masked.read(ROW));
    const found = inForce(masked, logged(plain));
    expect(found.hash).toEqual(fresh.hash);
    expect(JSON.stringify(found.value)).toBe(JSON.stringify({ ...fresh.value }));
    expect(JSON.stringify(found.value)).not.toContain('student-1');
  });

  it('written under the current mapping, it is not pseudonymised again', () => {
    const record = logged(masked);
    expect(inForce(masked, record)).toEqual({ value: record.value, hash: null });
  });

  it('with an unknown mapping, it is masked, if need be a second time', () => {
    const found = inForce(masked, { value: logged(plain).value, mapping: null }).value;
    expect(found).toMatchObject({ student: readable(masked.read(ROW)).value['student'], school: null });
    const republication = inForce(masked, { value: found, mapping: null }).value as Fields;
    expect(republication['student']).not.toEqual((found as Fields)['student']);
  });

  it('pseudonymised under another key, it does not keep that pseudonym', () => {
    const other = absencesReader({ ...MASK, pseudonymiseKey: 'another key of sixteen' });
    const record = logged(other);
    expect((inForce(masked, record).value as Fields)['student']).not.toEqual(record.value['student']);
  });

  it('without fields to drop or pseudonymise, it stays as it was', () => {
    const record = logged(masked);
    expect(inForce(plain, record)).toEqual({ value: record.value, hash: null });
  });

  it('if it cannot be decoded under the current mapping, it keeps only its id', () => {
    const value = { ...logged(plain).value, fromTime: null };
    expect(inForce(masked, { value, mapping: null }).value).toEqual({ sourcedId: 'absence-1' });
  });
});

describe('every collection', () => {
  it.each(ROW_COLLECTIONS)('%s: a value read again under its own mapping is the same', (collection) => {
    const schema = schemaOf(collection);
    const reader = createRowReader({ schema });
    const codec = createValueCodec<Fields>(schema);
    fc.assert(
      fc.property(arbitraryRow(schema), (row) => {
        const first = readable(reader.read(row));
        const value = codec.fromBuffer(reader.encode(first.value));
        const republication = reader.readAgain?.(value);
        expect(republication).toMatchObject({ kind: 'row', hash: first.hash });
        const published =
          republication?.kind === 'row' ? codec.fromBuffer(reader.encode(republication.value)) : null;
        expect(published).toEqual(value);
      }),
      { numRuns: 15 },
    );
  });
});
