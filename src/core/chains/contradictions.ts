import type { ChainGraph, ChainNode } from './chain-node.ts';
import type { ChainShape } from './chain-shape.ts';

/** How the hub's records contradict each other. */
export type ContradictionKind =
  /** Refers to itself. */
  | 'self-reference'
  /** Refers to a record of another student. */
  | 'other-student'
  /** Refers to a placeholder id; the link is not followed. */
  | 'crowded'
  /** Several records follow the same one. */
  | 'fork'
  /** Several records precede the same one. */
  | 'join'
  /** A record follows itself through others. */
  | 'loop'
  /** Deleted, but replaced by a record that is not deleted. */
  | 'deleted-and-replaced'
  /**
   * Says that it replaces a record that does not refer to it. Temporary, if the hub writes one record after the other.
   */
  | 'replaces-only'
  /** Named as the replacement by a record that it does not refer to. */
  | 'replaced-by-only'
  /** Says that a record replaced it which the hub does not have. */
  | 'replacement-gone';

export interface Contradiction {
  readonly kind: ContradictionKind;
  /** Null if the chain is not published. */
  readonly absenceId: string | null;
  /** Sorted. */
  readonly versionIds: readonly string[];
}

type Found = Omit<Contradiction, 'absenceId'>;

/** All contradictions of a component, sorted by kind and ids. */
export function contradictionsIn(parts: {
  graph: ChainGraph;
  nodes: readonly ChainNode[];
  shape: ChainShape;
  refused: readonly ChainGraph['refused'][number][];
}): readonly Found[] {
  const found: Found[] = [];
  const add = (kind: ContradictionKind, ids: readonly string[]): void => {
    found.push({ kind, versionIds: [...new Set(ids)].sort() });
  };
  for (const { kind, from, to } of parts.refused) add(kind, kind === 'crowded' ? [from.id] : [from.id, to]);
  if (parts.nodes.length === 1) return found;
  for (const node of parts.nodes) {
    if (node.later.length > 1) add('fork', [node.id, ...node.later.map(({ id }) => id)]);
    if (node.earlier.length > 1) add('join', [node.id, ...node.earlier.map(({ id }) => id)]);
    if (node.state !== 'present') continue;
    for (const later of node.later) {
      if (later.state === 'present' && node.replacedBy === null && later.replaces === node.id)
        add('replaces-only', [node.id, later.id]);
      if (later.state === 'present' && later.replaces === null) add('replaced-by-only', [node.id, later.id]);
      if (later.state !== 'present' && !later.isDeleted && later.later.length === 0)
        add('replacement-gone', [node.id, later.id]);
    }
  }
  const { path, tail } = parts.shape;
  const loop = loopThrough(path);
  if (loop.length > 0) add('loop', loop);
  if (tail !== null && !tail.isDeleted) {
    const deleted = path.filter((node) => node !== tail && node.isDeleted && node.state === 'present');
    for (const node of deleted) add('deleted-and-replaced', [node.id]);
  }
  return found.sort(byKindAndIds);
}

/**
 * The loop that a path runs into, or nothing. A path stops before it would repeat a version; if it stopped for that, a
 * predecessor of its first version is on the path.
 */
function loopThrough(path: readonly ChainNode[]): readonly string[] {
  const [first] = path;
  if (first === undefined || first.earlier.length === 0) return [];
  const position = new Map(path.map((node, index) => [node, index]));
  const back = first.earlier.reduce((last, node) => Math.max(last, position.get(node) ?? -1), -1);
  return path.slice(0, back + 1).map(({ id }) => id);
}

function byKindAndIds(one: Found, other: Found): number {
  const [a, b] = [`${one.kind} ${one.versionIds.join(' ')}`, `${other.kind} ${other.versionIds.join(' ')}`];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
