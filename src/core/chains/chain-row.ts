import type { ChainRow } from './knowledge.ts';

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
