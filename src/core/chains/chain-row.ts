import { inForce, type LoggedValue } from '../in-force.ts';
import type { RowReader } from '../decoded-row.ts';
import type { ChainRow } from './chain-state.ts';

/** The fields of a published version that chains need (avro/absence-versions.avsc). */
export interface AbsenceVersionValue {
  readonly sourcedId: string;
  readonly dateLastModified?: number | null;
  /** ms since the epoch */
  readonly fromTime?: number | null;
  /** ms since the epoch */
  readonly toTime?: number | null;
  readonly student?: { readonly sourcedId: string } | null;
  readonly replaces?: { readonly sourcedId: string } | null;
  readonly replacedBy?: { readonly sourcedId: string } | null;
  /** ms since the epoch */
  readonly deletedTime?: number | null;
}

/** The chain fields of a version. A version is deleted only if `deletedTime` is set (spec 2.2, 3 rule 2). */
export function chainRowOf(value: AbsenceVersionValue): ChainRow {
  return {
    id: value.sourcedId,
    replaces: value.replaces?.sourcedId ?? null,
    replacedBy: value.replacedBy?.sourcedId ?? null,
    isDeleted: (value.deletedTime ?? null) !== null,
    studentId: value.student?.sourcedId ?? null,
  };
}

/** The format of `pseudonymise`. */
const PSEUDONYM = /^[0-9a-f]{64}$/;

/**
 * The chain fields of a value read back from the log, with the student as the mapping in force names it. Otherwise a
 * student who was pseudonymised since would look like another student. A pseudonym of another mapping may stand for any
 * student.
 */
export function chainRowInForce(
  reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>,
  logged: LoggedValue,
): ChainRow {
  const row = chainRowOf(logged.value as AbsenceVersionValue);
  const { mapping = null } = reader;
  if (row.studentId === null || logged.mapping === mapping) return row;
  // Old records do not name their mapping. Their pseudonyms are taken for pseudonyms of the mapping in force.
  if (PSEUDONYM.test(row.studentId)) return logged.mapping === null ? row : { ...row, studentId: null };
  const { student } = inForce(reader, logged).value as AbsenceVersionValue;
  return { ...row, studentId: student?.sourcedId ?? null };
}
