import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AbsenceChangeValue, createEventEncoder } from '../../../src/core/absences/event-encoder.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import type { AvroRecord } from '../../../src/model/avro-schema.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';

const files = readSchemaFiles();
const changes = schemaOf('absence-changes');
const codec = createValueCodec<AbsenceChangeValue>(changes);
const versions = createValueCodec(schemaOf('absence-versions'));
const encodeEvent = createEventEncoder(changes);

const id = fc.oneof(
  fc.uuid(),
  fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
);
const time = fc.option(fc.integer({ min: 0, max: 253_402_300_799_999 }));
const reference = fc.option(fc.record({ sourcedId: id }));
const version = fc.record(
  {
    sourcedId: id,
    dateLastModified: time,
    fromTime: time,
    deletedTime: time,
    student: reference,
    replaces: reference,
    replacedBy: reference,
    additionalFields: fc.dictionary(fc.string(), fc.string({ maxLength: 2_000 })),
  },
  { requiredKeys: ['sourcedId'] },
);
const event = fc.record({
  absenceId: id,
  step: fc.integer({ min: 1 }),
  operation: fc.constantFrom('CREATED', 'REPLACED', 'DELETED', 'RESTORED'),
  version,
  previousVersion: fc.option(version),
  snapshot: fc.boolean(),
  cause: fc.constantFrom('HUB', 'VANISHED', 'MERGED'),
  mergedInto: fc.option(id),
  detectedAt: fc.integer({ min: 0, max: 253_402_300_799_999 }),
});

test('an event made of the bodies of its versions has the bytes of the event encoded as a whole', () => {
  fc.assert(
    fc.property(event, (value) => {
      const { version, previousVersion, ...facts } = value as AbsenceChangeValue;
      const previous = previousVersion === null ? null : versions.toBuffer(previousVersion);
      expect(encodeEvent(facts, versions.toBuffer(version), previous)).toEqual(
        codec.toBuffer({ ...facts, version, previousVersion }),
      );
    }),
  );
});

test('a schema in which the two versions are apart is refused', () => {
  const fields = changes.fields.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  expect(() => createEventEncoder({ ...changes, fields })).toThrow('one after the other');
});

function schemaOf(topic: TopicSuffix): AvroRecord {
  const file = files.get(topic);
  if (file === undefined) throw new Error(`there is no schema of ${topic}`);
  return file.schema;
}
