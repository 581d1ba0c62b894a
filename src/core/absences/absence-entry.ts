/**
 * An absence is a list of version ids of one student, oldest first. A link says "a stands directly before b". A link
 * is followed only if every list is then still a list; see version-lists.ts.
 */

/** A version as the hub has it. */
export interface VersionRow {
  readonly id: string;
  readonly replaces: string | null;
  readonly replacedBy: string | null;
  readonly isDeleted: boolean;
  /** See `studentFingerprint`; null if the record names no student. */
  readonly student: number | null;
}

/**
 * - `awaited`: another version names it, and the hub has never shown it
 * - `present`: at the hub
 * - `gone`: it has left the hub
 * - `foreign`: the hub gave it to another student
 */
export type MemberState = 'awaited' | 'present' | 'gone' | 'foreign';

export interface Member {
  readonly id: string;
  readonly state: MemberState;
  readonly isDeleted: boolean;
  /** A version of another absence replaces it. */
  readonly isContinued: boolean;
  /** True if a link that the record names was not followed, or a link that names this awaited id. */
  readonly hasRefusedLink: boolean;
  /** True if the record names a successor: according to the spec, it is not current then. */
  readonly namesSuccessor: boolean;
}

/** The last event of an absence. */
export interface Published {
  /** 0: forgotten. */
  readonly step: number;
  readonly versionId: string;
  readonly isDeleted: boolean;
}

/** The state of an absence; its key is the absence id. */
export interface AbsenceEntry {
  readonly student: number | null;
  readonly members: readonly Member[];
  readonly published: Published | null;
  /** True while something is unknown that its next event depends on, such as an awaited version. The end of each sync decides again. */
  readonly isOpen: boolean;
  /** The version, in another absence of the same student, that continues this one; null once that version is published. */
  readonly continuedBy: string | null;
}

export interface AbsenceStep {
  readonly absenceId: string;
  readonly step: number;
  readonly operation: 'CREATED' | 'REPLACED' | 'DELETED' | 'RESTORED';
  readonly versionId: string;
  readonly previousVersionId: string | null;
  readonly cause: 'HUB' | 'VANISHED' | 'MERGED';
  readonly mergedInto: string | null;
}

/** Whether the hub's records of the absence do not fit each other: a link was not followed, or a record names another student. */
export function isContradictory({ members }: Pick<AbsenceEntry, 'members'>): boolean {
  return members.some(({ hasRefusedLink, state }) => hasRefusedLink || state === 'foreign');
}

/** The entry of an absence whose key in `absence-changes` was nulled. */
export function forgotten(entry: AbsenceEntry): AbsenceEntry {
  const { published } = entry;
  return published === null ? entry : { ...entry, published: { ...published, step: 0 } };
}

/** Whether `absences` shows it. A deleted version is hidden at once. A version that left the hub is hidden only at the end of a sync. */
export function isShown({ published, members }: AbsenceEntry): boolean {
  if (published === null || published.step === 0 || published.isDeleted) return false;
  return members.find(({ id }) => id === published.versionId)?.isDeleted !== true;
}

/** The ids that keep an absence open. Versions that stand before the version published last are never published. */
export function awaitedIn({ published, members }: AbsenceEntry): string[] {
  const from = members.findIndex(({ id }) => id === published?.versionId) + 1;
  return members.slice(from).flatMap(({ id, state }) => (state === 'awaited' ? [id] : []));
}
