/**
 * Whether the hub has a version:
 * - `present`: the hub has it
 * - `vanished`: the hub had it, and its removal is confirmed
 * - `gone`: Rollcall never saw it, and the hub answered that it does not have it
 * - `unresolved`: a version refers to it, and the hub was not asked yet or did not answer
 */
export type VersionState = 'present' | 'vanished' | 'gone' | 'unresolved';

/** The index entry of a version, or of an id that a version refers to. */
export interface VersionEntry {
  readonly state: VersionState;
  /** Id in `replaces`; for a vanished version, the last one seen. */
  readonly replaces: string | null;
  /** Id in `replacedBy`; for a vanished version, the last one seen. */
  readonly replacedBy: string | null;
  /** Versions that refer to this one while it does not refer to them, sorted. */
  readonly linkedFrom: readonly string[];
  readonly isDeleted: boolean;
  /** {@link studentFingerprint} */
  readonly student: number;
  /** The absence that the version belongs to; null until its chain is published. */
  readonly absenceId: string | null;
  /** Whether the chain was published since this version last changed. If not, it must be resolved again. */
  readonly isResolved: boolean;
}

/** What was published of an absence. All but `since` follows from its last record in `absence-changes`. */
export interface AbsenceEntry {
  /** Number of the last event, from 1. */
  readonly step: number;
  /** The version that the last event named. */
  readonly publishedVersionId: string;
  readonly isPublishedAsDeleted: boolean;
  /** The absence that this one was merged into. */
  readonly mergedInto: string | null;
  /** Sequence number of the transaction with its `CREATED` event; orders first publications. */
  readonly since: number;
  /**
   * {@link studentFingerprint} of the record published last under this absence; 0 if that record names no student, or
   * is unknown.
   */
  readonly student: number;
}

/** Entries that were looked up. Null: there is no entry. Absent from the map: not looked up. */
export interface ChainState {
  readonly versions: ReadonlyMap<string, VersionEntry | null>;
  readonly absences: ReadonlyMap<string, AbsenceEntry | null>;
}

/** The fields of a new or changed absence record (spec 2.2) that chains depend on. */
export interface ChainRow {
  readonly id: string;
  readonly replaces: string | null;
  readonly replacedBy: string | null;
  readonly isDeleted: boolean;
  /** Null if the record names no student. */
  readonly studentId: string | null;
}

/**
 * 32-bit hash of a student's id (FNV-1a over UTF-16 code units), 0 for no student. It only serves to tell that two
 * records are of different students; it misses a difference with a probability of 2⁻³².
 */
export function studentFingerprint(studentId: string | null): number {
  if (studentId === null) return 0;
  let hash = 0x811c9dc5;
  for (let index = 0; index < studentId.length; index += 1) {
    hash = Math.imul(hash ^ studentId.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0 || 1;
}
