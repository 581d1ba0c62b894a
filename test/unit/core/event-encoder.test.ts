import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AbsenceChangeValue, createEventEncoder } from '../../../src/core/absences/event-encoder.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { schemaOf } from './support/rows.ts';

const changes = schemaOf('absence-changes');
const codec = createValueCodec<AbsenceChangeValue>(changes);
const versions = createValueCodec(schemaOf('absence-versions'));
const encodeEvent = createEventEncoder(changes);

const id = fc.oneof(
  fc.uuid(),
  fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
);
const instant = fc.integer({ min: 0, max: 253_402_300_799_999 });
const [time, reference] = [fc.option(instant), fc.option(fc.record({ sourcedId: id }))];
const times = { dateLastModified: time, fromTime: time, deletedTime: time };
const references = { student: reference, replaces: reference, replacedBy: reference };
const additionalFields = fc.dictionary(fc.string(), fc.string({ maxLength: 2_000 }));
const version = fc.record(
  { sourcedId: id, ...times, ...references, additionalFields },
  { requiredKeys: ['sourcedId'] },
);
const pair = { version, previousVersion: fc.option(version) };
const causes = { cause: fc.constantFrom('HUB', 'VANISHED', 'MERGED'), mergedInto: fc.option(id) };
const operation = fc.constantFrom('CREATED', 'REPLACED', 'DELETED', 'RESTORED');
const step = { absenceId: id, step: fc.integer({ min: 1 }), operation };
const event = fc.record({ ...step, ...pair, ...causes, snapshot: fc.boolean(), detectedAt: instant });

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
