import { isKnownPlaceholder } from './placeholder-ids.ts';
import { studentFingerprint, type AbsenceEntry, type ChainRow, type VersionEntry } from './chain-state.ts';

/** One event of `absence-changes`, as read from the topic. */
export interface LoggedStep {
  readonly absenceId: string;
  readonly step: number;
  readonly isDeletion: boolean;
  /** The version that the event names. */
  readonly row: ChainRow;
  readonly mergedInto: string | null;
  /** See {@link AbsenceEntry.since}. */
  readonly since: number;
}

/**
 * Rebuilds chain entries from the records of the public topics (rule 15). The topics may come in any order; within one
 * topic, the records of a key come in log order. The caller passes the entries of all ids that a batch names ({@link
 * idsIn}) and writes `changed` back. Whether a chain was published is not known before the end, when {@link examine}
 * finds it out.
 */
export class EntryImport {
  readonly #entries: Map<string, VersionEntry | null>;
  readonly #changed = new Set<string>();

  constructor(entries: ReadonlyMap<string, VersionEntry | null>) {
    this.#entries = new Map(entries);
  }

  get changed(): ReadonlyMap<string, VersionEntry> {
    const changed = new Map<string, VersionEntry>();
    for (const id of this.#changed) {
      const entry = this.#entries.get(id) ?? null;
      if (entry !== null) changed.set(id, entry);
    }
    return changed;
  }

  /**
   * Imports a record of `absence-versions`. A record after the last complete full sync (`isNews`) may not be published
   * yet. Events that were read before may be of a student whom the record no longer names.
   */
  row(row: ChainRow, options: { isNews: boolean }): void {
    const before = this.#entries.get(row.id) ?? null;
    // As in a resolution, a record that no longer names a student keeps the student that it named before.
    const student = row.studentId === null ? (before?.student ?? 0) : studentFingerprint(row.studentId);
    const isOthers = before !== null && areOfTwo(before.student, student);
    this.#set(row.id, {
      ...entryOf(row),
      student,
      state: 'present',
      linkedFrom: this.#linksTo(row, before),
      absenceId: isOthers ? null : (before?.absenceId ?? null),
      isResolved: !options.isNews || (isVersion(before) && before.isResolved),
    });
    this.#link(row);
  }

  /**
   * Imports a tombstone of `absence-versions`: the version left the hub. It becomes unresolved, unlike a version that
   * the log merely lacks. The student of a version without an entry is unknown, so it joins no chains (rule 1).
   */
  removal(versionId: string): void {
    const before = this.#entries.get(versionId) ?? UNKNOWN;
    this.#set(versionId, { ...before, state: isVersion(before) ? 'vanished' : 'gone', isResolved: false });
  }

  /**
   * Imports an event. If the hub assigned the version to another student since, the event does not make the version
   * part of this absence. If it is the absence's last event, the next resolution moves the absence with the version
   * (rule 16).
   */
  step({ absenceId, row, mergedInto }: LoggedStep): void {
    if (mergedInto !== null) return;
    const before = this.#entries.get(row.id) ?? null;
    if (before?.state === 'present') {
      const published = studentFingerprint(row.studentId);
      const isOthers = areOfTwo(before.student, published);
      const student = before.student === 0 ? published : before.student;
      this.#set(row.id, { ...before, absenceId: isOthers ? before.absenceId : absenceId, student });
      return;
    }
    // The version has left the hub or the log lost its record, unless that record is still to come.
    this.#set(row.id, {
      ...entryOf(row),
      state: 'vanished',
      linkedFrom: this.#linksTo(row, before),
      absenceId,
      isResolved: before?.state === 'gone' || isVersion(before) ? before.isResolved : true,
    });
    this.#link(row);
  }

  /** Versions that refer to this one while it does not refer to them, including those that it referred to before. */
  #linksTo(row: ChainRow, before: VersionEntry | null): string[] {
    if (before === null) return [];
    if (isKnownPlaceholder(before)) return [...before.linkedFrom];
    const left = [before.replaces, before.replacedBy].filter((id) => id !== null && this.#refers(id, row.id));
    const all = new Set([...before.linkedFrom, ...left.filter((id) => id !== null)]);
    return [...all].filter((id) => id !== row.replaces && id !== row.replacedBy).sort();
  }

  #refers(from: string, to: string): boolean {
    const entry = from === to ? null : (this.#entries.get(from) ?? null);
    return entry !== null && (entry.replaces === to || entry.replacedBy === to);
  }

  #link(row: ChainRow): void {
    for (const to of [row.replaces, row.replacedBy]) {
      if (to === null || to === row.id) continue;
      const target = this.#entries.get(to) ?? null;
      if (target === null) this.#set(to, { ...UNKNOWN, linkedFrom: [row.id] });
      else if (target.replaces !== row.id && target.replacedBy !== row.id) {
        if (!isKnownPlaceholder(target) && !target.linkedFrom.includes(row.id)) {
          this.#set(to, { ...target, linkedFrom: [...target.linkedFrom, row.id].sort() });
        }
      }
    }
  }

  #set(id: string, entry: VersionEntry): void {
    this.#entries.set(id, entry);
    this.#changed.add(id);
  }
}

/** Whether two fingerprints are of two students; 0 is no student. */
function areOfTwo(one: number, other: number): boolean {
  return one !== 0 && other !== 0 && one !== other;
}

function isVersion(entry: VersionEntry | null): entry is VersionEntry {
  return entry !== null && (entry.state === 'present' || entry.state === 'vanished');
}

const UNKNOWN: VersionEntry = {
  state: 'unresolved',
  replaces: null,
  replacedBy: null,
  linkedFrom: [],
  isDeleted: false,
  student: 0,
  absenceId: null,
  isResolved: true,
};

function entryOf(row: ChainRow): Pick<VersionEntry, 'replaces' | 'replacedBy' | 'isDeleted' | 'student'> {
  const { replaces, replacedBy, isDeleted, studentId } = row;
  return { replaces, replacedBy, isDeleted, student: studentFingerprint(studentId) };
}

/** The version ids whose entries {@link EntryImport} needs to import a row. */
export function idsIn(row: ChainRow): readonly string[] {
  return [row.id, row.replaces, row.replacedBy].filter((id) => id !== null);
}

export function absenceEntryOf(logged: LoggedStep): AbsenceEntry {
  const { step, isDeletion, row, mergedInto, since } = logged;
  const student = studentFingerprint(row.studentId);
  return { step, publishedVersionId: row.id, isPublishedAsDeleted: isDeletion, mergedInto, since, student };
}
