import { describe, expect, it } from 'vitest';
import type { AvroRecord } from '../../../src/model/avro-schema.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { strictFieldsOf } from '../../../src/core/mapping-rules.ts';
import { createRowReader } from '../../../src/core/row-reader.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';

const ODD = { constructor: 'c', toString: [1], hasOwnProperty: false };
const schemas = readSchemaFiles();

function schemaOf(name: 'users' | 'absence-versions'): AvroRecord {
  const file = schemas.get(name);
  if (file === undefined) throw new Error(name);
  return file.schema;
}

function textsOf(value: object): Record<string, string> {
  return (value as { additionalFields: Record<string, string> }).additionalFields;
}

describe('fields whose names every object has', () => {
  it.each(['users', 'absence-versions'] as const)(
    'are read back unchanged from a record of %s, with the hash in its header',
    (name) => {
      const reader = createRowReader({ schema: schemaOf(name), strictFields: strictFieldsOf(name) });
      const times = { fromTime: '2026-03-02T08:00:00Z', toTime: '2026-03-02T09:00:00Z' };
      const reading = reader.read({ sourcedId: '1', ...times, ...ODD });
      if (reading.kind !== 'row') throw new Error(reading.reason);
      const read = createValueCodec<object>(schemaOf(name)).fromBuffer(reader.encode(reading.value));
      expect(Object.keys(textsOf(read))).toEqual(expect.arrayContaining(Object.keys(ODD)));
      expect(reader.hashOf?.(read)).toEqual(reading.hash);
    },
  );
});
