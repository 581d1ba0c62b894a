import type { ChainGraph, ChainNode } from './chain-node.ts';
import type { ChainShape } from './chain-shape.ts';

/** In what way the hub's records do not fit each other. */
export type ContradictionKind =
  /** Refers to itself. */
  | 'self-reference'
  /** Refers to a record of another student. */
  | 'other-student'
  /** Refers to an id that very many records refer to: none of a record, and not followed. */
  | 'crowded'
  /** Several records follow the same one. */
  | 'fork'
  /** Several records come before the same one. */
  | 'join'
  /** Follows itself through others. */
  | 'loop'
  /** Deleted, and replaced by a record that is not. */
  | 'deleted-and-replaced'
  /** Says that it replaces a record which says nothing of it. Passing, where the hub writes one after the other. */
  | 'replaces-only'
  /** Is named as the replacement by a record that it says nothing of. */
  | 'replaced-by-only'
  /** Says that it was replaced, by a record that the hub does not have. */
  | 'replacement-gone';

export interface Contradiction {
  readonly kind: ContradictionKind;
  /** Null for a chain not published. */
  readonly absenceId: string | null;
  /** Sorted. */
  readonly versionIds: readonly string[];
}

type Found = Omit<Contradiction, 'absenceId'>;

/** All that is contradictory in a component, in an order of its own. */
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

/** The path stops where it would come back to itself: what stands before its first version is then on the path. */
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
