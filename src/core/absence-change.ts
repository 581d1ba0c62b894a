import { hash } from 'node:crypto';
import type { AbsenceStep } from './absences/absence-entry.ts';
import type { AbsenceVersionValue } from './absences/absence-version.ts';
import type { AbsenceOperation } from './cloud-events.ts';

const HASH_HEX_DIGITS = 32;

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

/** The `content-hash` of an event: 16 bytes of SHA-256 over the entire Avro body, as no two events are equal. */
export function changeHash(body: Buffer): Buffer {
  return Buffer.from(hash('sha256', body, 'hex').slice(0, HASH_HEX_DIGITS), 'hex');
}
