import { studentsByAbsence } from './absence-student.ts';
import { clusterOf, rowsById, type ChainInput, type Cluster } from './cluster.ts';
import { placeholdersIn } from './placeholder-ids.ts';
import { studentFingerprint, type ChainRow, type VersionEntry, type VersionState } from './chain-state.ts';

/** A version, or an id that versions refer to, during a resolution. */
export interface ChainNode {
  readonly id: string;
  readonly state: VersionState;
  readonly replaces: string | null;
  readonly replacedBy: string | null;
  isDeleted: boolean;
  readonly student: number;
  readonly before: VersionEntry | null;
  /** Part of this input: as a row, as vanished, or to revisit. */
  readonly isTouched: boolean;
  /** Direct successors, each once. */
  readonly later: ChainNode[];
  /** Direct predecessors, each once. */
  readonly earlier: ChainNode[];
  /** Index of its component; -1 until known. */
  component: number;
}

/** The {@link studentFingerprint} of a component's records; 0 if none of them names a student. */
export function studentOfChain(nodes: readonly ChainNode[]): number {
  return nodes.find((node) => !isUnattributed(node))?.student ?? 0;
}

export interface ChainGraph {
  readonly cluster: Cluster;
  /** Versions that are or were at the hub. */
  readonly known: ReadonlyMap<string, ChainNode>;
  /** Ids that are only referred to: one node for each student whose records refer to the id. */
  readonly danglingReferences: ReadonlyMap<string, ReadonlyMap<number, ChainNode>>;
  /** Ids in the index that nothing refers to any more. */
  readonly unlinked: ReadonlyMap<string, VersionEntry>;
  readonly components: readonly (readonly ChainNode[])[];
  /** See the function of this name. */
  readonly studentsByAbsence: ReadonlyMap<string, number>;
  /** Ids that too many versions refer to. */
  readonly placeholders: ReadonlyMap<string, VersionEntry | null>;
  /** Links that are not followed: to the record itself, to another student's record, or to a placeholder id. */
  readonly refused: readonly {
    kind: 'self-reference' | 'other-student' | 'crowded';
    from: ChainNode;
    to: string;
  }[];
}

/** Nodes by id, then by student. */
type DanglingMap = Map<string, Map<number, ChainNode>>;

/** @throws Error if the chain state lacks an entry that `missing` asks for */
export function graphOf(input: ChainInput): ChainGraph {
  const rows = rowsById(input.rows);
  const cluster = clusterOf(input, rows);
  const [unknown] = [...cluster.unknownVersions, ...cluster.unknownAbsences];
  if (unknown !== undefined) throw new Error('resolve() needs all that missing() asks for to be looked up');
  const known = knownNodes({ input, rows, cluster });
  const linked = linkedNodes({ input, cluster, known });
  const { danglingReferences, placeholders, refused } = linked;
  const unlinked = new Map<string, VersionEntry>();
  for (const id of cluster.versions) {
    const entry = input.chainState.versions.get(id) ?? null;
    if (entry !== null && !known.has(id) && !danglingReferences.has(id) && !placeholders.has(id))
      unlinked.set(id, entry);
  }
  const students = studentsByAbsence(input.chainState, cluster.versions);
  const { components } = linked;
  return {
    cluster,
    known,
    danglingReferences,
    unlinked,
    components,
    studentsByAbsence: students,
    placeholders,
    refused,
  };
}

type Linked = Pick<ChainGraph, 'danglingReferences' | 'components' | 'placeholders' | 'refused'>;

/**
 * Links versions. An unattributed version may belong to any student. But where it would connect records of two
 * students, it is linked only to other unattributed versions (rule 1).
 */
function linkedNodes(parts: {
  input: ChainInput;
  cluster: Cluster;
  known: ReadonlyMap<string, ChainNode>;
}): Linked {
  const { input, cluster, known } = parts;
  const placeholders = new Map(
    [...placeholdersIn(known.values(), input.chainState)].map((id) => [
      id,
      input.chainState.versions.get(id) ?? null,
    ]),
  );
  const linkAll = (unattributed: ReadonlySet<string>): Linked => {
    const danglingReferences: DanglingMap = new Map();
    const refused = link({ input, known, danglingReferences, placeholders, unattributed });
    retirePublished({ input, cluster, danglingReferences });
    const nodes = [...known.values()];
    for (const same of danglingReferences.values())
      for (const dangling of same.values()) nodes.push(dangling);
    return { danglingReferences, placeholders, refused, components: componentsOf(nodes) };
  };
  const linked = linkAll(new Set());
  const unattributed = linked.components.filter(isOfSeveral).flatMap((nodes) => nodes.filter(isUnattributed));
  if (unattributed.length === 0) return linked;
  for (const node of known.values()) {
    node.later.length = 0;
    node.earlier.length = 0;
    node.component = -1;
  }
  return linkAll(new Set(unattributed.map(({ id }) => id)));
}

function isUnattributed({ student }: ChainNode): boolean {
  return student === 0;
}

function isOfSeveral(nodes: readonly ChainNode[]): boolean {
  const students = new Set(nodes.map(({ student }) => student));
  students.delete(0);
  return students.size > 1;
}

function knownNodes(parts: {
  input: ChainInput;
  rows: ReadonlyMap<string, ChainRow>;
  cluster: Cluster;
}): Map<string, ChainNode> {
  const { input, rows } = parts;
  const vanished = new Set(input.vanished);
  const revisit = new Set(input.revisit);
  const known = new Map<string, ChainNode>();
  for (const id of parts.cluster.versions) {
    const before = input.chainState.versions.get(id) ?? null;
    const row = rows.get(id);
    if (row !== undefined) {
      known.set(id, {
        ...newNode(id, 'present'),
        replaces: row.replaces,
        replacedBy: row.replacedBy,
        isDeleted: row.isDeleted,
        student: studentOf(row, before),
        before,
        isTouched: true,
      });
    } else if (before !== null && (before.state === 'present' || before.state === 'vanished')) {
      known.set(id, {
        ...newNode(id, vanished.has(id) ? 'vanished' : before.state),
        replaces: before.replaces,
        replacedBy: before.replacedBy,
        isDeleted: before.isDeleted,
        student: before.student,
        before,
        isTouched: vanished.has(id) || revisit.has(id),
      });
    }
  }
  return known;
}

/** A record that no longer names a student keeps the student that it named before. */
function studentOf({ studentId }: ChainRow, before: VersionEntry | null): number {
  return studentId === null ? (before?.student ?? 0) : studentFingerprint(studentId);
}

function newNode(id: string, state: VersionState): ChainNode {
  return {
    id,
    state,
    replaces: null,
    replacedBy: null,
    isDeleted: false,
    student: 0,
    before: null,
    isTouched: false,
    later: [],
    earlier: [],
    component: -1,
  };
}

function link(parts: {
  input: ChainInput;
  known: ReadonlyMap<string, ChainNode>;
  danglingReferences: DanglingMap;
  placeholders: ReadonlyMap<string, unknown>;
  /** Unattributed versions that may be linked only to other unattributed versions. */
  unattributed: ReadonlySet<string>;
}): ChainGraph['refused'] {
  const { known, danglingReferences } = parts;
  const gone = new Set(parts.input.gone);
  const refused: ChainGraph['refused'][number][] = [];
  const danglingOf = (id: string, student: number): ChainNode => {
    const same = danglingReferences.get(id) ?? new Map<number, ChainNode>();
    const found = same.get(student);
    if (found !== undefined) return found;
    const before = parts.input.chainState.versions.get(id) ?? null;
    const state = gone.has(id) || before?.state === 'gone' ? 'gone' : 'unresolved';
    const dangling = { ...newNode(id, state), student, before, isDeleted: before?.isDeleted ?? false };
    danglingReferences.set(id, same.set(student, dangling));
    return dangling;
  };
  const other = (from: ChainNode, id: string): ChainNode | null => {
    if (id === from.id) {
      refused.push({ kind: 'self-reference', from, to: id });
      return null;
    }
    if (parts.placeholders.has(id)) {
      refused.push({ kind: 'crowded', from, to: id });
      return null;
    }
    const to = known.get(id) ?? danglingOf(id, from.student);
    // An unattributed version may belong to the same student.
    const mayBe = (node: ChainNode): boolean => isUnattributed(node) && !parts.unattributed.has(node.id);
    if (to.student === from.student || mayBe(to) || mayBe(from)) return to;
    refused.push({ kind: 'other-student', from, to: id });
    return null;
  };
  for (const node of known.values()) {
    const earlier = node.replaces === null ? null : other(node, node.replaces);
    if (earlier !== null) connect(earlier, node);
    const later = node.replacedBy === null ? null : other(node, node.replacedBy);
    if (later !== null && later.replaces !== node.id) connect(node, later);
  }
  return refused;
}

function connect(earlier: ChainNode, later: ChainNode): void {
  earlier.later.push(later);
  later.earlier.push(earlier);
}

/**
 * Keeps an absence deleted that was published as deleted, when the hub drops its tombstone. This holds after an import
 * too, where the version's own entry is lost.
 */
function retirePublished(parts: {
  input: ChainInput;
  cluster: Cluster;
  danglingReferences: DanglingMap;
}): void {
  for (const id of parts.cluster.absences) {
    const absence = parts.input.chainState.absences.get(id) ?? null;
    if (absence === null || !absence.isPublishedAsDeleted || absence.mergedInto !== null) continue;
    for (const dangling of parts.danglingReferences.get(absence.publishedVersionId)?.values() ?? [])
      dangling.isDeleted = true;
  }
}

function componentsOf(nodes: readonly ChainNode[]): ChainNode[][] {
  const components: ChainNode[][] = [];
  for (const start of nodes) {
    if (start.component >= 0) continue;
    const members: ChainNode[] = [];
    const todo = [start];
    start.component = components.length;
    for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
      members.push(node);
      for (const neighbours of [node.later, node.earlier]) {
        for (const neighbour of neighbours) {
          if (neighbour.component >= 0) continue;
          neighbour.component = components.length;
          todo.push(neighbour);
        }
      }
    }
    components.push(members);
  }
  return components;
}
