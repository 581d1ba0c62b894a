import { inForce, type LoggedValue } from '../in-force.ts';
import type { RowReader } from '../decoded-row.ts';
import type { ChainRow } from './chain-state.ts';

/** What chains need of a published version (avro/absence-versions.avsc). */
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

/** A version as chains see it. Only a `deletedTime` that is set deletes (spec 2.2, 3 rule 2). */
export function chainRowOf(value: AbsenceVersionValue): ChainRow {
  return {
    id: value.sourcedId,
    replaces: value.replaces?.sourcedId ?? null,
    replacedBy: value.replacedBy?.sourcedId ?? null,
    isDeleted: (value.deletedTime ?? null) !== null,
    studentId: value.student?.sourcedId ?? null,
  };
}

/** As `pseudonymise` makes them. */
const PSEUDONYM = /^[0-9a-f]{64}$/;

/**
 * The same of a value that was read back from the log, with its student as the mapping in force names them: else who
 * was pseudonymised since would be another student than before. Behind a pseudonym of another mapping may be anybody.
 */
export function chainRowInForce(
  reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>,
  logged: LoggedValue,
): ChainRow {
  const row = chainRowOf(logged.value as AbsenceVersionValue);
  const { mapping = null } = reader;
  if (row.studentId === null || logged.mapping === mapping) return row;
  // Before records named their mapping, a pseudonym is taken for one of the mapping in force.
  if (PSEUDONYM.test(row.studentId)) return logged.mapping === null ? row : { ...row, studentId: null };
  const { student } = inForce(reader, logged).value as AbsenceVersionValue;
  return { ...row, studentId: student?.sourcedId ?? null };
}
