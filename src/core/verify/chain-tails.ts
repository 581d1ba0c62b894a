import type { VersionRow } from '../absences/absence-entry.ts';
import { deriveAbsences } from '../absences/derive-absences.ts';

/** A version of an absence at the hub. */
export interface HubVersion {
  readonly row: VersionRow;
  /** Content hash, as 16 Latin-1 characters. */
  readonly hash: string;
  readonly modifiedAtMs: number | null;
  /** ms since the epoch; null when it is not deleted */
  readonly deletedMs: number | null;
}

/** A chain of versions, resolved as if nothing of it were published. */
export interface HubChain {
  /** The absence id of a first publication; an absence that is already published keeps its own. */
  readonly name: string;
  readonly versionIds: readonly string[];
  /** The current version; null once the absence is deleted. */
  readonly tail: string | null;
  /**
   * The tail names a successor that the hub does not have. If that was published, the absence is over, and the hub alone
   * does not show this.
   */
  readonly endsInMissing: boolean;
  /**
   * The hub's rows do not fit each other: what is published depends on the order in which they were read, and the
   * versions are all that are linked with them.
   */
  readonly isContradictory: boolean;
}

/** The chains of these versions, which must be all that the hub has (spec 3, by core/absences). */
export function chainsOf(versions: ReadonlyMap<string, HubVersion>): HubChain[] {
  return [...linkedRows(versions).values()].flatMap(derived);
}

/** Ids of all versions that are linked, directly or indirectly, with any of these ids. */
export function linkedWith(versions: ReadonlyMap<string, HubVersion>, ids: ReadonlySet<string>): Set<string> {
  const linked = new Set(ids);
  for (const rows of linkedRows(versions).values()) {
    const all = rows.flatMap(({ id, replaces, replacedBy }) => [id, replaces ?? id, replacedBy ?? id]);
    if (all.some((id) => ids.has(id))) for (const id of all) linked.add(id);
  }
  return linked;
}

const NO_ENTRIES = new Map<string, never>();

function derived(rows: readonly VersionRow[]): HubChain[] {
  const all = deriveAbsences({ mode: 'final', rows, vanished: [], open: [], entries: NO_ENTRIES });
  const present = new Set(rows.map(({ id }) => id));
  const lists = [...all.entries].flatMap(([name, entry]) => (entry === null ? [] : [{ name, ...entry }]));
  const members = lists.flatMap((list) => list.members);
  const isContradictory = members.some(({ isOdd, isContinued }) => isOdd || isContinued);
  const [first] = lists;
  if (isContradictory && first !== undefined)
    return [
      { name: first.name, versionIds: [...present], tail: null, endsInMissing: false, isContradictory },
    ];
  const successors = new Map(rows.map(({ id, replacedBy }) => [id, replacedBy]));
  return lists.map((list) => {
    const tail = all.shown.get(list.name) ?? null;
    const successor = tail === null ? null : (successors.get(tail) ?? null);
    return {
      name: list.name,
      versionIds: list.members.flatMap(({ id }) => (present.has(id) ? [id] : [])),
      tail,
      endsInMissing: successor !== null && !present.has(successor),
      isContradictory,
    };
  });
}

/** Rows grouped by direct or indirect links (union-find); keys are arbitrary members. */
function linkedRows(versions: ReadonlyMap<string, HubVersion>): Map<string, VersionRow[]> {
  const parents = new Map<string, string>();
  const rootOf = (id: string): string => {
    let root = id;
    for (let up = parents.get(root); up !== undefined; up = parents.get(root)) root = up;
    for (let at = id; at !== root;) {
      const up = parents.get(at) ?? root;
      parents.set(at, root);
      at = up;
    }
    return root;
  };
  for (const { row } of versions.values()) {
    for (const other of [row.replaces, row.replacedBy]) {
      if (other === null) continue;
      const one = rootOf(row.id);
      const two = rootOf(other);
      if (one !== two) parents.set(one, two);
    }
  }
  const groups = new Map<string, VersionRow[]>();
  for (const { row } of versions.values()) {
    const root = rootOf(row.id);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [row]);
    else group.push(row);
  }
  return groups;
}
