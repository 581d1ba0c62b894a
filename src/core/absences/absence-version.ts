import type { VersionRow } from './absence-entry.ts';
import { hash } from 'node:crypto';

/** The fields of a published version that absences need (avro/absence-versions.avsc). */
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

/** Why a version is rejected if the hub returns it with a student other than that of its absence. */
export const OTHER_STUDENT =
  'the record belonged to another student before, but the `student` of an absence never changes';

/** A version is deleted only if `deletedTime` is set (spec 2.2, 3 rule 2). `student`: see {@link studentFingerprint}. */
export function versionRowOf(value: AbsenceVersionValue, student: number | null): VersionRow {
  return {
    id: value.sourcedId,
    replaces: value.replaces?.sourcedId ?? null,
    replacedBy: value.replacedBy?.sourcedId ?? null,
    isDeleted: (value.deletedTime ?? null) !== null,
    student,
  };
}

/**
 * 32 bits of a hash of the tenant's id (which has no `/`) and a student's id as the hub names it. It tells two students apart
 * without the id, and stays the same when `drop` or `pseudonymise` changes.
 */
export function studentFingerprint(tenantId: string, studentId: string): number {
  return Number.parseInt(hash('sha256', `${tenantId}/${studentId}`, 'hex').slice(0, 8), 16);
}
