import avro from 'avsc';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { VersionRecords } from '../../../src/absences/version-records.ts';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import type { OutgoingRecord } from '../../../src/log/log.ts';
import type { AvroRecord } from '../../../src/model/avro-schema.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import type { Table } from '../../../src/table/table.ts';
import type { TenantAbsences } from '../../../src/table/tenant.ts';
import { arbitraryRow } from '../core/support/arbitrary-rows.ts';
import {
  ABSENCE,
  absencesReader,
  hashOf,
  readable,
  schemaOf,
  USER,
  usersReader,
  type Fields,
} from '../core/support/rows.ts';
import { madeCollection, madeSync } from './support/made-collection.ts';
import { forAll } from '../support/for-all.ts';

const SCHEMA = schemaOf('users');
const time = { type: 'long', logicalType: 'timestamp-millis' };
/** What hubs may have sent before the schema knew it; `subjects` is the name of a set in other places. */
const ADDED = {
  nickname: 'string',
  isGuest: 'boolean',
  entered: time,
  subjects: { type: 'array', items: 'string' },
};
const added = Object.entries(ADDED).map(([name, type]) => ({
  name,
  type: ['null', type],
  default: null,
  since: '0.2.0',
}));
/** A schema of a later version. */
const grown = (schema: AvroRecord) => ({ ...schema, fields: schema.fields.toSpliced(-1, 0, ...added) });
const GROWN = grown(SCHEMA);
const [earlier, later] = [usersReader(), usersReader({ schema: GROWN })];

const sent = fc.record(
  {
    nickname: fc.oneof(fc.string(), fc.jsonValue()),
    isGuest: fc.constantFrom(true, 'true', 1, null, 'no'),
    entered: fc.constantFrom('2026-03-04T08:00:00Z', '2026-03-04T08:00:00.123456+01:00', 'today'),
    subjects: fc.array(fc.constantFrom('b', 'a')),
  },
  { requiredKeys: [] },
);

it('a field that a schema gains changes no hash and no additional field, whatever the hub sends', () => {
  const resolver = avro.Type.forSchema(GROWN as avro.Schema, { wrapUnions: 'never' });
  const before = avro.Type.forSchema(SCHEMA as avro.Schema, { wrapUnions: 'never' });
  const resolve = resolver.createResolver(before);
  forAll([arbitraryRow(SCHEMA), sent], (known, more) => {
    const row = { ...known, ...more };
    const [old, now] = [readable(earlier.read(row)), readable(later.read(row))];
    expect(now.hash).toEqual(old.hash);
    expect(now.value.additionalFields).toBe(old.value.additionalFields);
    // What verify computes, of a record of either version.
    const ofOld = resolver.fromBuffer(earlier.encode(old.value), resolve) as object;
    for (const value of [ofOld, now.value]) expect(later.hashOf(value)).toEqual(old.hash);
  });
});

it('a full sync after a schema has gained a field publishes no row until its content changes', async () => {
  const state = createMemoryStore().tenant('north');
  const records: OutgoingRecord[] = [];
  const full = async (reader: typeof later, row: object): Promise<void> => {
    const commit = (transaction: { records: readonly OutgoingRecord[] }) => {
      records.push(...transaction.records);
      return {};
    };
    const { writer } = await madeCollection({ state, settings: { reader }, commit });
    const sync = madeSync('FULL');
    writer.begin(sync);
    const decoded = reader.read(row);
    await writer.accept(sync, { rows: [{ key: 'user-1', rejectKey: 'user-1', decoded }], readVersion: 0 });
    await writer.flush(sync, { kind: 'complete', watermarkMs: 0, isWhole: true });
  };
  const row = { ...USER, nickname: 'Ta' };
  await full(earlier, row);
  await full(later, row);
  expect(records).toHaveLength(1);
  await full(later, { ...row, nickname: 'Tan' });
  const value = createValueCodec<Fields>(GROWN).fromBuffer(records[1]?.body ?? Buffer.alloc(0));
  expect(value).toMatchObject({ nickname: 'Tan', additionalFields: '{"nickname":"Tan"}' });
  expect(hashOf(later, row)).not.toBe(hashOf(later, { ...row, nickname: 'Tan' }));
});

it('a record of an absence that waits in the index is published under a schema that has gained a field', async () => {
  const row = readable(absencesReader().read({ ...ABSENCE, nickname: 'Ta' }));
  const id = row.sourcedId;
  const given = { rows: new Map([[id, row]]), mayWait: new Set([id]) };
  const recordsOf = (reader: TenantAbsences['reader'], kept: Buffer | null, rows = given.rows) => {
    const table = { staged: { bodies: new Map() }, lookUpCommitted: () => Promise.resolve([kept]) };
    return new VersionRecords({ reader } as TenantAbsences, table as unknown as Table, { ...given, rows });
  };
  const schema = grown(schemaOf('absence-versions'));
  const reader = absencesReader({ schema });
  const records = recordsOf(reader, recordsOf(absencesReader(), null).kept(id), new Map());
  await records.load([id]);
  const { body, hash } = records.get(id);
  expect(hash).toEqual(row.hash);
  expect(createValueCodec(schema).fromBuffer(body)).toEqual({ ...row.value, ...nothingOf(added) });
});

function nothingOf(fields: readonly { readonly name: string }[]): object {
  return Object.fromEntries(fields.map(({ name }) => [name, null]));
}
