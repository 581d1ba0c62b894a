import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import {
  type AbsenceChangeValue,
  createEventEncoder,
  encodeAbsence,
} from '../../../src/core/absences/event-encoder.ts';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import { createRowReader } from '../../../src/core/rows/row-reader.ts';
import { arbitraryRow } from './support/arbitrary-rows.ts';
import { readable, schemaOf } from './support/rows.ts';
import { forAll } from '../support/for-all.ts';

const changes = schemaOf('absence-changes');
const codec = createValueCodec<AbsenceChangeValue>(changes);
const encodeEvent = createEventEncoder(changes);
const versionSchema = schemaOf('absence-versions');
const versions = createRowReader({ schema: versionSchema });

const id = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed());
const version = arbitraryRow(versionSchema).map(
  (row): AbsenceVersionValue => readable(versions.read(row)).value as never,
);
const pair = { version, previousVersion: fc.option(version) };
const causes = { cause: fc.constantFrom('HUB', 'VANISHED', 'MERGED'), mergedInto: fc.option(id) };
const operation = fc.constantFrom('CREATED', 'REPLACED', 'DELETED', 'RESTORED');
const step = { absenceId: id, step: fc.integer({ min: 1 }), operation };
const detectedAt = fc.integer({ min: 0, max: 253_402_300_799_999 });
const event = fc.record({ ...step, ...pair, ...causes, snapshot: fc.boolean(), detectedAt });

test('an event made of the bodies of its versions has the bytes of the event encoded as a whole', () => {
  forAll([event], (value) => {
    const { version, previousVersion, ...facts } = value as AbsenceChangeValue;
    const previous = previousVersion === null ? null : versions.encode(previousVersion);
    expect(encodeEvent(facts, versions.encode(version), previous)).toEqual(
      codec.toBuffer({ ...facts, version, previousVersion }),
    );
  });
});

test('an absence made of the body of its version has the bytes of the absence encoded as a whole', () => {
  const absences = createValueCodec<AbsenceVersionValue & { absenceId: string }>(schemaOf('absences'));
  forAll([id, version], (absenceId, value) => {
    const bytes = encodeAbsence(absenceId, versions.encode(value));
    expect(bytes).toEqual(absences.toBuffer({ absenceId, ...value }));
  });
});
