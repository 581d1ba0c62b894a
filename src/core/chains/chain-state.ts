/**
 * Whether the hub has a version: it does · it did, and the version left for good · it never was seen there, and the hub
 * says it has none · it is referred to, and nobody has asked yet or the answer could not be read.
 */
export type VersionState = 'present' | 'vanished' | 'gone' | 'unresolved';

/** What is remembered of one version of an absence, or of an id that a version refers to. */
export interface VersionEntry {
  readonly state: VersionState;
  /** Id in `replaces`; of a vanished version, as it last was. */
  readonly replaces: string | null;
  /** Id in `replacedBy`; of a vanished version, as it last was. */
  readonly replacedBy: string | null;
  /** Versions that refer to this one although it does not refer to them, sorted. */
  readonly linkedFrom: readonly string[];
  readonly isDeleted: boolean;
  /** {@link studentFingerprint} */
  readonly student: number;
  /** Null until its chain is published. */
  readonly absenceId: string | null;
  /** Whether the chain has been published since this version last changed; else it must be resolved again. */
  readonly isResolved: boolean;
}

/** What was published of one absence. Follows from its last record in `absence-changes`, but for `since`. */
export interface AbsenceEntry {
  /** Of the last event, from 1. */
  readonly step: number;
  /** The version that the last event named. */
  readonly publishedVersionId: string;
  readonly isPublishedAsDeleted: boolean;
  /** The absence that this one turned out to be. */
  readonly mergedInto: string | null;
  /** Orders first publications: the sequence number of the transaction of `CREATED`. */
  readonly since: number;
  /** {@link studentFingerprint} of the record published under it last; 0 where that named nobody, or is not known. */
  readonly student: number;
}

/** Null: looked up, and there is none. Not in the map: not looked up. */
export interface ChainState {
  readonly versions: ReadonlyMap<string, VersionEntry | null>;
  readonly absences: ReadonlyMap<string, AbsenceEntry | null>;
}

/** A new or changed absence detail (spec 2.2), as far as chains depend on it. */
export interface ChainRow {
  readonly id: string;
  readonly replaces: string | null;
  readonly replacedBy: string | null;
  readonly isDeleted: boolean;
  /** Null where the record names none. */
  readonly studentId: string | null;
}

/**
 * 32 bits of a student's id (FNV-1a over UTF-16 code units), 0 for none. It only shows that two records are not of the
 * same student; that it misses a wrong link has a probability of 2⁻³².
 */
export function studentFingerprint(studentId: string | null): number {
  if (studentId === null) return 0;
  let hash = 0x811c9dc5;
  for (let index = 0; index < studentId.length; index += 1) {
    hash = Math.imul(hash ^ studentId.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0 || 1;
}
