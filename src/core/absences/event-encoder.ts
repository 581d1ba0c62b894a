import type { AbsenceStep } from './absence-entry.ts';
import type { AbsenceVersionValue } from './absence-version.ts';
import type { AbsenceOperation } from '../cloud-events.ts';
import type { AvroRecord } from '../../model/avro-schema.ts';
import { createWriter, intoOneBuffer, writeBytes, writeString } from '../avro/avro-writer.ts';

/** Value of a record in `absence-changes` (avro/absence-changes.avsc). */
export interface AbsenceChangeValue {
  readonly absenceId: string;
  readonly step: number;
  readonly operation: AbsenceStep['operation'];
  readonly version: AbsenceVersionValue;
  readonly previousVersion: AbsenceVersionValue | null;
  readonly snapshot: boolean;
  readonly cause: AbsenceStep['cause'];
  readonly mergedInto: string | null;
  /** ms since the epoch */
  readonly detectedAt: number;
}

/** The last part of an event's `ce_type`. */
export function operationOf(step: Pick<AbsenceStep, 'operation'>): AbsenceOperation {
  return step.operation.toLowerCase() as AbsenceOperation;
}

const absenceOf = intoOneBuffer<{ absenceId: string; version: Buffer }>(({ absenceId, version }, output) => {
  writeString(absenceId, output);
  writeBytes(version, output);
});

/**
 * The Avro body of a record in `absences`, whose fields are the absence id and then those of its current version. `version`: Avro
 * body of `absence-versions`.
 */
export function encodeAbsence(absenceId: string, version: Buffer): Buffer {
  return Buffer.from(absenceOf({ absenceId, version }));
}

/** An event without the two records that it holds. */
export type EventFacts = Omit<AbsenceChangeValue, 'version' | 'previousVersion'>;

/**
 * The Avro body of an event. `version` and `previousVersion` are Avro bodies of `absence-versions`, of which an event
 * holds the same bytes: the body of a version is made once, and copied into its event.
 */
export type EncodeEvent = (facts: EventFacts, version: Buffer, previousVersion: Buffer | null) => Buffer;

/** Branches of the union of `previousVersion`, as Avro writes their numbers. */
const NO_VERSION = Buffer.from([0]);
const A_VERSION = Buffer.from([2]);

/** `schema`: that of `absence-changes`, in which `previousVersion` (null or a version) follows `version`. */
export function createEventEncoder(schema: AvroRecord): EncodeEvent {
  const at = schema.fields.findIndex(({ name }) => name === 'version');
  // Avro writes the fields of a record one after another, so some fields in a row are written like a record of their
  // own.
  const writeHead = createWriter(schema.fields.slice(0, at));
  const writeTail = createWriter(schema.fields.slice(at + 2));
  const eventOf = intoOneBuffer<Parameters<EncodeEvent>>(([facts, version, previousVersion], output) => {
    writeHead(facts, output);
    writeBytes(version, output);
    writeBytes(previousVersion === null ? NO_VERSION : A_VERSION, output);
    if (previousVersion !== null) writeBytes(previousVersion, output);
    writeTail(facts, output);
  });
  return (...parts) => Buffer.from(eventOf(parts));
}
