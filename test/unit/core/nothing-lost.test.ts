import { isDeepStrictEqual } from 'node:util';

import { expect, it } from 'vitest';

import { OWN_FIELDS } from '../../../src/core/rows/mapping-rules.ts';
import { createRowReader } from '../../../src/core/rows/row-reader.ts';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { arbitraryRow } from './support/arbitrary-rows.ts';
import { type Fields, readable, schemaOf } from './support/rows.ts';
import { forMany } from '../support/for-all.ts';

/** Says whether a typed value, as a consumer decodes it, holds all that the hub's value says. */
function saysAll(typed: unknown, raw: unknown): boolean {
  if (raw === null || raw === undefined) return typed === null;
  if (typed === null || typed === undefined) return false;
  if (typeof typed === 'boolean')
    return (typeof raw === 'string' ? raw.toLowerCase() : JSON.stringify(raw)) === spelling(typed, raw);
  if (typeof typed === 'number' && typeof raw === 'string') return isSameTime(typed, raw);
  if (Array.isArray(typed)) {
    return (
      Array.isArray(raw) &&
      raw.length === typed.length &&
      typed.every((item, index) => saysAll(item, raw[index]))
    );
  }
  if (typeof typed !== 'object') return typed === raw;
  if (typeof raw !== 'object' || Array.isArray(raw)) return false;
  const members = typed as Record<string, unknown>;
  const names = new Set([...Object.keys(members), ...Object.keys(raw)]);
  return [...names].every((name) => saysAll(member(members, name), member(raw, name)));
}

function member(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : null;
}

function spelling(typed: boolean, raw: unknown): string {
  return typeof raw === 'number' ? String(Number(typed)) : String(typed);
}

function isSameTime(typed: number, raw: string): boolean {
  return raw.length === 10 ? typed * 86_400_000 === Date.parse(raw) : new Date(typed).toISOString() === raw;
}

it.each(ROW_COLLECTIONS)('every value of a row is kept, and nothing is invented (%s)', (collection) => {
  const schema = schemaOf(collection);
  const reader = createRowReader({ schema });
  const codec = createValueCodec<Fields>(schema);
  forMany(60, [arbitraryRow(schema)], (row) => {
    const reading = readable(reader.read(row));
    const read = codec.fromBuffer(reader.encode(reading.value));
    const { additionalFields, ...typed } = read;
    const additional = JSON.parse(additionalFields ?? '{}') as object;
    // as it comes: JSON.stringify writes -0 as 0
    const sent = JSON.parse(JSON.stringify(row)) as object;
    // null and omitted are the same, so that of a field of Rollcall's own says nothing
    const said = Object.entries(sent).filter(([name, raw]) => raw !== null || !OWN_FIELDS.has(name));
    const lost = said.filter(([name, raw]) =>
      Object.hasOwn(additional, name)
        ? !isDeepStrictEqual(member(additional, name), raw)
        : !saysAll(member(typed, name), raw),
    );
    const invented = [
      ...Object.keys(typed).filter(
        (name) => typed[name] !== null && member(row, name) === null && !OWN_FIELDS.has(name),
      ),
      ...Object.keys(additional).filter((name) => !Object.hasOwn(row, name)),
    ];
    expect([lost, invented]).toEqual([[], []]);
    const facts = [reading.sourcedId, reading.modifiedAtMs, reading.hash.toString('hex')];
    expect([row['sourcedId'], typed['dateLastModified'], reader.hashOf(read).toString('hex')]).toEqual(facts);
    // what is read again under the mapping that it was written under is the same
    const again = reader.readAgain(read);
    if (again.kind !== 'row') throw new Error('not read again');
    expect(again.hash.equals(reading.hash)).toBe(true);
    expect(isDeepStrictEqual(codec.fromBuffer(reader.encode(again.value)), read)).toBe(true);
  });
});
