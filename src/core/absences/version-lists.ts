import type { AbsenceEntry, Member, VersionRow } from './absence-entry.ts';

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A version during a derivation: a member of a list. */
export interface Version extends Writable<Member> {
  list: VersionList;
}

/** An absence during a derivation: a list of versions. */
export interface VersionList extends Writable<Omit<AbsenceEntry, 'members'>> {
  key: string;
  /** Oldest first. */
  members: Version[];
}

const NEW = { isDeleted: false, isContinued: false, hasRefusedLink: false, namesSuccessor: false } as const;

/**
 * The lists of a derivation: places versions, and follows their links.
 *
 * A link says that one version comes directly before another one. It is followed if the earlier version is the last of
 * its list, the later version is the first of its list, both lists are of one student, and not both are published. Then
 * the two lists become one. Every other link is refused, and the version is marked (`hasRefusedLink`): a link of a
 * version to itself, a fork, a join, a loop, a link to another student. Even if its links change, a version never
 * leaves its list.
 */
export class VersionLists {
  readonly versions = new Map<string, Version>();
  readonly all = new Set<VersionList>();
  /** Lists that may have new events, because their versions changed, or because they waited for the end of the sync. */
  readonly touched = new Set<VersionList>();
  /** Lists in which a link was refused: their entries change, although they may have no new event. */
  readonly marked = new Set<VersionList>();
  /** Versions that the hub has given to a student other than that of their list. */
  readonly rejected: string[] = [];
  /** Links to awaited versions that turned out to be another student's. `by`: the version whose record has the link. */
  readonly #linksToOthers: { by: string; before: string; after: string }[] = [];

  load(key: string, { members, ...entry }: AbsenceEntry): void {
    const list: VersionList = { key, ...entry, members: [] };
    for (const [position, member] of members.entries()) this.#add({ ...member, list }, position);
    this.all.add(list);
  }

  /**
   * Adds versions. All are placed before any link is followed, so that the lists do not depend on the order of the
   * rows.
   */
  take(rows: readonly VersionRow[]): void {
    const placed = rows.filter((row) => this.#place(row));
    for (const row of placed) this.#follow(row);
    for (const { by, before, after } of this.#linksToOthers) {
      const version = this.versions.get(by);
      if (version !== undefined && !this.#link(before, after)) version.hasRefusedLink = true;
    }
  }

  /** Notes that these versions have left the hub. */
  leave(ids: readonly string[]): void {
    for (const id of ids) {
      const version = this.versions.get(id);
      if (version === undefined || version.state === 'awaited') continue;
      version.state = 'gone';
      this.touched.add(version.list);
    }
  }

  #add(version: Version, position: number): void {
    this.versions.set(version.id, version);
    version.list.members.splice(position, 0, version);
  }

  #begin({ id, student }: VersionRow): Version {
    const list = { key: id, student, published: null, isOpen: false, continuedBy: null, members: [] };
    const version: Version = { id, state: 'present', ...NEW, list };
    this.#add(version, 0);
    this.all.add(list);
    return version;
  }

  /** Places a version in its list, or in a new list. Returns false if the version had another student before. */
  #place(row: VersionRow): boolean {
    let version = this.versions.get(row.id);
    if (version !== undefined && !mayBeOne(version.list.student, row.student)) {
      this.touched.add(version.list);
      if (version.state !== 'awaited') {
        version.state = 'foreign';
        this.rejected.push(row.id);
        return false;
      }
      this.#takeOut(version);
      version = undefined;
    }
    version ??= this.#begin(row);
    version.state = 'present';
    version.isDeleted = row.isDeleted;
    version.hasRefusedLink = false;
    version.namesSuccessor = row.replacedBy !== null && row.replacedBy !== row.id;
    version.list.student ??= row.student;
    this.touched.add(version.list);
    return true;
  }

  /**
   * Takes out an awaited version that turned out to be another student's. Its neighbours had named it in their links.
   */
  #takeOut(version: Version): void {
    const { id, list } = version;
    const position = list.members.indexOf(version);
    const [before, after] = [list.members[position - 1], list.members[position + 1]];
    list.members.splice(position, 1);
    this.versions.delete(id);
    if (before !== undefined) this.#linksToOthers.push({ by: before.id, before: before.id, after: id });
    if (after !== undefined) this.#linksToOthers.push({ by: after.id, before: id, after: after.id });
  }

  /** Follows the links of a version. */
  #follow({ id, replaces, replacedBy }: VersionRow): void {
    const version = this.versions.get(id);
    // The version may have been rejected since, because a later row of the batch has it with another student.
    if (version?.state !== 'present') return;
    if (replaces !== null && !this.#link(replaces, id)) version.hasRefusedLink = true;
    if (replacedBy !== null && !this.#link(id, replacedBy)) version.hasRefusedLink = true;
  }

  /**
   * Follows a link. If only one of the two ids is known, the other one becomes an awaited version, provided that its
   * place is free. Returns whether the one stands directly before the other now.
   */
  #link(beforeId: string, afterId: string): boolean {
    if (beforeId === afterId) return false;
    const before = this.versions.get(beforeId);
    const after = this.versions.get(afterId);
    if (before === undefined) return after !== undefined && this.#await(beforeId, after, 'before');
    if (after === undefined) return this.#await(afterId, before, 'after');
    const { members } = before.list;
    if (members[members.indexOf(before) + 1] === after) return true;
    if (mayJoin(before, after)) {
      this.#join(before.list, after.list);
      return true;
    }
    this.#noteContinued(before, after);
    for (const version of [before, after]) this.#notePlaceholder(version);
    return false;
  }

  /**
   * The link between two absences was refused: the earlier absence ends, if its last version names a successor in the
   * other.
   */
  #noteContinued(before: Version, after: Version): void {
    const { list } = before;
    const areThere = before.state === 'present' && after.state === 'present';
    if (list === after.list || !isLast(before) || !areThere) return;
    before.isContinued = true;
    // The records of one child must not reveal the records of another.
    list.continuedBy = mayBeOne(list.student, after.list.student) ? after.id : null;
    this.touched.add(list);
  }

  /** A refused link names an awaited id: from now on this is a placeholder id, at which no lists are joined. */
  #notePlaceholder(version: Version): void {
    if (version.state !== 'awaited') return;
    version.hasRefusedLink = true;
    this.marked.add(version.list);
  }

  #await(id: string, beside: Version, side: 'before' | 'after'): boolean {
    if (side === 'before' ? !isFirst(beside) : !isLast(beside)) return false;
    const { list } = beside;
    this.#add({ id, state: 'awaited', ...NEW, list }, side === 'before' ? 0 : list.members.length);
    return true;
  }

  /** Makes one list of two: the published one, or else the longer one, takes up the other. */
  #join(earlier: VersionList, later: VersionList): void {
    const isEarlierLonger = earlier.members.length >= later.members.length;
    const keepsEarlier = earlier.published !== null || (later.published === null && isEarlierLonger);
    const [kept, lost] = keepsEarlier ? [earlier, later] : [later, earlier];
    for (const version of lost.members) version.list = kept;
    kept.members = earlier.members.concat(later.members);
    kept.student ??= lost.student;
    kept.continuedBy ??= lost.continuedBy;
    this.all.delete(lost);
    this.touched.delete(lost);
    this.marked.delete(lost);
    this.touched.add(kept);
  }
}

function isFirst(version: Version): boolean {
  return version.list.members[0] === version;
}

function isLast(version: Version): boolean {
  return version.list.members.at(-1) === version;
}

/** Whether a link from one version to the other makes one list of their two lists. */
function mayJoin(before: Version, after: Version): boolean {
  const [earlier, later] = [before.list, after.list];
  const isNew = earlier.published === null || later.published === null;
  const areEnds = earlier !== later && isLast(before) && isFirst(after);
  const isOneStudent = mayBeOne(earlier.student, later.student);
  return areEnds && isOneStudent && isNew && !isPlaceholder(before) && !isPlaceholder(after);
}

function isPlaceholder({ state, hasRefusedLink }: Version): boolean {
  return state === 'awaited' && hasRefusedLink;
}

/** Whether two records may be of one student: a record that names no student may be of any. */
export function mayBeOne(one: number | null, other: number | null): boolean {
  return one === null || other === null || one === other;
}
