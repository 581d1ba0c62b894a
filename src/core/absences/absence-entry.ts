/**
 * An absence is a list of version ids of one student, oldest first. A link says that one version comes directly before
 * another. Which links are followed: see version-lists.ts.
 */

/** What the hub's record of a version says. */
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
  /** A version of another absence replaces this one, by a link that was refused. */
  readonly isContinued: boolean;
  /** Whether a link of this version's record was refused, or, if this version is awaited, a link that names it. */
  readonly hasRefusedLink: boolean;
  /** Whether the record names a successor: according to the spec, the version is then not current. */
  readonly namesSuccessor: boolean;
}

/** The last event of an absence. */
export interface Published {
  /** The number of the event; 0: the absence is forgotten. */
  readonly step: number;
  readonly versionId: string;
  readonly isDeleted: boolean;
}

/** The entry of an absence in the index, under the absence id. */
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

/**
 * Whether the hub's records of an absence contradict each other: a link was refused, or a record names another student.
 */
export function isContradictory({ members }: Pick<AbsenceEntry, 'members'>): boolean {
  return members.some(({ hasRefusedLink, state }) => hasRefusedLink || state === 'foreign');
}

/** The entry of an absence after a null was published for its key in `absence-changes`. */
export function forgotten(entry: AbsenceEntry): AbsenceEntry {
  const { published } = entry;
  return published === null ? entry : { ...entry, published: { ...published, step: 0 } };
}

/**
 * Whether `absences` shows an absence. A version that was deleted is hidden at once. A version that has left the hub is
 * hidden only at the end of a sync.
 */
export function isShown({ published, members }: AbsenceEntry): boolean {
  if (published === null || published.step === 0 || published.isDeleted) return false;
  return members.find(({ id }) => id === published.versionId)?.isDeleted !== true;
}

/** The ids that keep an absence open. Versions that stand before the version published last are never published. */
export function awaitedIn({ published, members }: AbsenceEntry): string[] {
  const from = members.findIndex(({ id }) => id === published?.versionId) + 1;
  return members.slice(from).flatMap(({ id, state }) => (state === 'awaited' ? [id] : []));
}
