import { isKnownCrowd } from './crowd.ts';
import { studentFingerprint, type AbsenceEntry, type ChainRow, type VersionEntry } from './knowledge.ts';

/** One event of `absence-changes` as it stands in the topic. */
export interface LoggedStep {
  readonly absenceId: string;
  readonly step: number;
  readonly isDeletion: boolean;
  /** The version that it names. */
  readonly row: ChainRow;
  readonly mergedInto: string | null;
  /** See {@link AbsenceEntry.since}. */
  readonly since: number;
}

/**
 * Chain entries made again out of the topics' records, in whatever order the topics come; within one, records of a key
 * come in theirs. To be fed with the entries of all ids that a batch names ({@link idsIn}); `changed` gives what is to be
 * written back. Whether a chain has been told cannot be seen yet: {@link examine} finds that out at the end.
 */
export class EntryReplay {
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

  /** A record of `absence-versions`. A version that was settled stays so: what was forgotten is not told again. */
  row(row: ChainRow, options: { isNewSettled: boolean }): void {
    const before = this.#entries.get(row.id) ?? null;
    const isKnown = before !== null && (before.state === 'present' || before.state === 'vanished');
    this.#set(row.id, {
      ...entryOf(row),
      state: 'present',
      linkedFrom: (before?.linkedFrom ?? []).filter((id) => id !== row.replaces && id !== row.replacedBy),
      absenceId: before?.absenceId ?? null,
      isSettled: isKnown ? before.isSettled : options.isNewSettled,
    });
    this.#link(row);
  }

  /** The version has left the hub. */
  removal(versionId: string, options: { isSettled: boolean }): void {
    const before = this.#entries.get(versionId) ?? null;
    if (before === null || before.state !== 'present') return;
    this.#set(versionId, { ...before, state: 'vanished', isSettled: options.isSettled });
  }

  step({ absenceId, row, mergedInto }: LoggedStep): void {
    if (mergedInto !== null) return;
    const before = this.#entries.get(row.id) ?? null;
    const isKnown = before !== null && (before.state === 'present' || before.state === 'vanished');
    if (isKnown) {
      this.#set(row.id, { ...before, absenceId });
      return;
    }
    // Unless its record comes too, it has left the hub.
    this.#set(row.id, {
      ...entryOf(row),
      state: 'vanished',
      linkedFrom: (before?.linkedFrom ?? []).filter((id) => id !== row.replaces && id !== row.replacedBy),
      absenceId,
      isSettled: true,
    });
    this.#link(row);
  }

  #link(row: ChainRow): void {
    for (const to of [row.replaces, row.replacedBy]) {
      if (to === null || to === row.id) continue;
      const target = this.#entries.get(to) ?? null;
      if (target === null) this.#set(to, { ...UNKNOWN, linkedFrom: [row.id] });
      else if (target.replaces !== row.id && target.replacedBy !== row.id) {
        if (!isKnownCrowd(target) && !target.linkedFrom.includes(row.id)) {
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

const UNKNOWN: VersionEntry = {
  state: 'unresolved',
  replaces: null,
  replacedBy: null,
  linkedFrom: [],
  isDeleted: false,
  student: 0,
  absenceId: null,
  isSettled: true,
};

function entryOf(row: ChainRow): Pick<VersionEntry, 'replaces' | 'replacedBy' | 'isDeleted' | 'student'> {
  const { replaces, replacedBy, isDeleted, studentId } = row;
  return { replaces, replacedBy, isDeleted, student: studentFingerprint(studentId) };
}

/** The version ids whose entries {@link EntryReplay} needs for a row. */
export function idsIn(row: ChainRow): readonly string[] {
  return [row.id, row.replaces, row.replacedBy].filter((id) => id !== null);
}

export function absenceEntryOf(logged: LoggedStep): AbsenceEntry {
  const { step, isDeletion, row, mergedInto, since } = logged;
  return { step, toldVersionId: row.id, isToldDeleted: isDeletion, mergedInto, since };
}
