import { describe, expect, it } from 'vitest';
import type { AvroRecord } from '../../../src/model/avro-schema.ts';
import type { AbsenceChangeValue } from '../../../src/core/absence-change.ts';
import { avroType } from '../../../src/core/value-codec.ts';
import { strictFieldsOf } from '../../../src/core/mapping.ts';
import { createRowReader } from '../../../src/core/row-reader.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';

/** These fields are JSON text because in code the first one would set a prototype. */
const ODD = '"__proto__": {"a": 1}, "constructor": "c", "toString": [1], "hasOwnProperty": false';
const ODD_NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
const schemas = readSchemaFiles();

function schemaOf(name: 'users' | 'absence-versions' | 'absence-changes'): AvroRecord {
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
      const times = '"fromTime": "2026-03-02T08:00:00Z", "toTime": "2026-03-02T09:00:00Z"';
      const reading = reader.read(JSON.parse(`{"sourcedId": "1", ${times}, ${ODD}}`));
      if (reading.kind !== 'row') throw new Error(reading.reason);
      const read = avroType(schemaOf(name)).fromBuffer(reader.encode(reading.value)) as object;
      expect(Object.keys(textsOf(read))).toEqual(expect.arrayContaining(ODD_NAMES));
      expect(textsOf(read)['__proto__']).toBe('{"a":1}');
      expect(reader.hashOf?.(read)).toEqual(reading.hash);
      expect(Object.prototype).not.toHaveProperty('a');
    },
  );

  it('stay in the record that an event carries, even if it was read back from the log', () => {
    const versions = createValueCodec<AbsenceChangeValue['version']>(schemaOf('absence-versions'));
    const changes = createValueCodec<AbsenceChangeValue>(schemaOf('absence-changes'));
    const additionalFields = JSON.parse('{"__proto__": "1", "constructor": "2"}') as object;
    const row = { sourcedId: 'v', school: null, additionalFields };
    const nulls = Object.fromEntries(schemaOf('absence-versions').fields.map(({ name }) => [name, null]));
    const version = versions.fromBuffer(versions.toBuffer({ ...nulls, ...row }));
    const step = {
      absenceId: 'v',
      step: 2,
      operation: 'DELETED',
      cause: 'VANISHED',
      mergedInto: null,
    } as const;
    const event = { ...step, version, previousVersion: null, snapshot: false, detectedAt: 1 };
    const read = changes.fromBuffer(changes.toBuffer(event));
    expect(Object.entries(textsOf(read.version))).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
    ]);
  });

  it('that no record holds are absent', () => {
    const type = avroType({ type: 'map', values: 'string' });
    const map = type.fromBuffer(type.toBuffer({ a: 'b' })) as Record<string, string>;
    expect(map['constructor']).toBeUndefined();
    expect({ ...map }).toEqual({ a: 'b' });
  });
});

describe('a map in bytes', () => {
  const type = avroType({ type: 'map', values: 'string' });

  it('is read from blocks that state their size', () => {
    // -1 entry of 4 bytes: "a" → "b"; then the end.
    expect({ ...(type.fromBuffer(Buffer.from([1, 8, 2, 97, 2, 98, 0])) as object) }).toEqual({ a: 'b' });
  });

  it('that claims more entries than there are bytes is refused at once', () => {
    expect(() => type.fromBuffer(Buffer.from([254, 255, 255, 255, 15, 2, 97]))).toThrow('truncated');
  });
});
