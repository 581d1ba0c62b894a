import type { VersionRow } from './absence-entry.ts';

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

/** Why a version is rejected that was read with another student than its absence's. */
export const OTHER_STUDENT =
  'the record was of another student before: `student` of an absence does not change';

/** A version is deleted only if `deletedTime` is set (spec 2.2, 3 rule 2). `student`: see student-fingerprint.ts. */
export function versionRowOf(value: AbsenceVersionValue, student: number | null): VersionRow {
  return {
    id: value.sourcedId,
    replaces: value.replaces?.sourcedId ?? null,
    replacedBy: value.replacedBy?.sourcedId ?? null,
    isDeleted: (value.deletedTime ?? null) !== null,
    student,
  };
}
