import type { AbsenceEntry, Member, VersionRow } from './absence-entry.ts';

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A member of a list during a derivation. */
export interface Version extends Writable<Member> {
  list: VersionList;
}

/** An absence during a derivation. */
export interface VersionList extends Writable<Omit<AbsenceEntry, 'members'>> {
  key: string;
  /** Oldest first. */
  members: Version[];
}

const NEW = { isDeleted: false, isContinued: false, hasRefusedLink: false, namesSuccessor: false } as const;

/**
 * The lists of a derivation: places versions, and follows their links.
 *
 * A link `a` → `b` is followed if `a` is the last version of its list, `b` is the first version of its list, both
 * lists are of one student, and not both are published: then the two lists become one. Every other link is counted,
 * and not followed: a link to itself, a fork, a join, a loop, a link to another student. A version never leaves its
 * list because links have changed.
 */
export class VersionLists {
  readonly versions = new Map<string, Version>();
  readonly all = new Set<VersionList>();
  /** Lists whose versions changed, or that wait for the end of a sync: their events are to be found. */
  readonly touched = new Set<VersionList>();
  /** Lists in which only a link was refused: their entries change, and they have no new event. */
  readonly marked = new Set<VersionList>();
  /** Versions that have another student than their list. */
  readonly rejected: string[] = [];
  /** Links to awaited versions that turned out to be another student's. `by` names the record with the link. */
  readonly #links: { by: string; before: string; after: string }[] = [];

  load(key: string, { members, ...entry }: AbsenceEntry): void {
    const list: VersionList = { key, ...entry, members: [] };
    for (const [position, member] of members.entries()) this.#add({ ...member, list }, position);
    this.all.add(list);
  }

  /** Places all versions before it follows any link: otherwise the joins would depend on the order of the rows. */
  take(rows: readonly VersionRow[]): void {
    const placed = rows.filter((row) => this.#place(row));
    for (const row of placed) this.#follow(row);
    for (const { by, before, after } of this.#links) {
      const version = this.versions.get(by);
      if (version !== undefined && !this.#link(before, after)) version.hasRefusedLink = true;
    }
  }

  /** The versions have left the hub. */
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

  /** Whether the version is now a member of an absence of its student. */
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

  /** An awaited version turned out to be another student's. The records of its neighbours had named it. */
  #takeOut(version: Version): void {
    const { id, list } = version;
    const position = list.members.indexOf(version);
    const [before, after] = [list.members[position - 1], list.members[position + 1]];
    list.members.splice(position, 1);
    this.versions.delete(id);
    if (before !== undefined) this.#links.push({ by: before.id, before: before.id, after: id });
    if (after !== undefined) this.#links.push({ by: after.id, before: id, after: after.id });
  }

  #follow({ id, replaces, replacedBy }: VersionRow): void {
    const version = this.versions.get(id);
    // Another row of the batch may have had another student.
    if (version?.state !== 'present') return;
    if (replaces !== null && !this.#link(replaces, id)) version.hasRefusedLink = true;
    if (replacedBy !== null && !this.#link(id, replacedBy)) version.hasRefusedLink = true;
  }

  /** Whether `a` stands directly before `b` now. One of the two is a version. If the place of the other id is free, this id is awaited. */
  #link(a: string, b: string): boolean {
    if (a === b) return false;
    const before = this.versions.get(a);
    const after = this.versions.get(b);
    if (before === undefined) return after !== undefined && this.#await(a, after, 'before');
    if (after === undefined) return this.#await(b, before, 'after');
    const [one, two] = [before.list, after.list];
    if (one.members[one.members.indexOf(before) + 1] === after) return true;
    if (one !== two && isLast(before) && isFirst(after) && mayBeOne(one.student, two.student)) {
      const isNew = one.published === null || two.published === null;
      if (isNew && !isPlaceholder(before) && !isPlaceholder(after)) {
        this.#join(one, two);
        return true;
      }
    }
    this.#refuse(before, after);
    return false;
  }

  #refuse(before: Version, after: Version): void {
    const [one, two] = [before.list, after.list];
    const isReplaced = isLast(before) && before.state === 'present' && after.state === 'present';
    if (one !== two && isReplaced) {
      before.isContinued = true;
      // The records of one child must not reveal the records of another.
      one.continuedBy = mayBeOne(one.student, two.student) ? after.id : null;
      this.touched.add(one);
    }
    // If more versions refer to an id than can be next to it in a list, nothing is joined there.
    for (const version of [before, after]) {
      if (version.state !== 'awaited') continue;
      version.hasRefusedLink = true;
      this.marked.add(version.list);
    }
  }

  #await(id: string, beside: Version, side: 'before' | 'after'): boolean {
    if (side === 'before' ? !isFirst(beside) : !isLast(beside)) return false;
    const { list } = beside;
    this.#add({ id, state: 'awaited', ...NEW, list }, side === 'before' ? 0 : list.members.length);
    return true;
  }

  #join(one: VersionList, two: VersionList): void {
    const isOneLonger = one.members.length >= two.members.length;
    const keepsOne = one.published !== null || (two.published === null && isOneLonger);
    const [kept, lost] = keepsOne ? [one, two] : [two, one];
    for (const version of lost.members) version.list = kept;
    kept.members = one.members.concat(two.members);
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

function isPlaceholder({ state, hasRefusedLink }: Version): boolean {
  return state === 'awaited' && hasRefusedLink;
}

/** A record without a student fits any. */
export function mayBeOne(one: number | null, other: number | null): boolean {
  return one === null || other === null || one === other;
}
