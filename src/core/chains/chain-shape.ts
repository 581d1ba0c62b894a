import type { ChainNode } from './chain-node.ts';

/** The tail of a component, and the path to it. */
export interface ChainShape {
  /** From the oldest known or referenced id to the tail, including ids that the hub does not have. */
  readonly path: readonly ChainNode[];
  /** Null if the hub has no version of the component left. */
  readonly tail: ChainNode | null;
}

/** Applies rules 3 to 6 in chain-rules.ts. Linear in the nodes; their order makes no difference. */
export function shapeOf(nodes: readonly ChainNode[]): ChainShape {
  if (!nodes.some((node) => node.state === 'present')) return { path: [], tail: null };
  const disowned = new Map<ChainNode, boolean>();
  let tail: ChainNode | null = null;
  let bestRank = -1;
  const tails = tailsOf(nodes);
  for (const node of tails) {
    const isDisputed = tails.length > 1 && isDisowned(node, disowned);
    const rank = (isLive(node) ? 2 : 0) + (isDisputed ? 0 : 1);
    if (rank > bestRank || (rank === bestRank && tail !== null && node.id > tail.id)) {
      tail = node;
      bestRank = rank;
    }
  }
  return { path: tail === null ? [] : pathTo(tail).toReversed(), tail };
}

function isLive(node: ChainNode): boolean {
  return node.state === 'present' && !node.isDeleted;
}

/** Whether a node can be a tail: a version at the hub, or one that was deleted when it left the hub. */
function canEnd(node: ChainNode): boolean {
  return node.state === 'present' || node.isDeleted;
}

function tailsOf(nodes: readonly ChainNode[]): readonly ChainNode[] {
  const [only] = nodes;
  if (nodes.length === 1 && only !== undefined) return [only];
  const open = new Map(nodes.map((node) => [node, node.later.length]));
  const deadEnds = nodes.filter((node) => node.later.length === 0 && !canEnd(node));
  for (let dead = deadEnds.pop(); dead !== undefined; dead = deadEnds.pop()) {
    for (const node of dead.earlier) {
      const left = (open.get(node) ?? 0) - 1;
      open.set(node, left);
      if (left === 0 && !canEnd(node)) deadEnds.push(node);
    }
  }
  const tails = nodes.filter((node) => open.get(node) === 0 && canEnd(node));
  return tails.length > 0 ? tails : loopOf(nodes);
}

/** In a loop, every version that can be reached from itself may be the tail. */
function loopOf(nodes: readonly ChainNode[]): readonly ChainNode[] {
  const open = new Map(nodes.map((node) => [node, node.earlier.length]));
  const starts = nodes.filter((node) => node.earlier.length === 0);
  for (let start = starts.pop(); start !== undefined; start = starts.pop()) {
    for (const node of start.later) {
      const left = (open.get(node) ?? 0) - 1;
      open.set(node, left);
      if (left === 0) starts.push(node);
    }
  }
  const looped = nodes.filter((node) => (open.get(node) ?? 0) > 0 && node.state === 'present');
  return looped.length > 0 ? looped : nodes.filter((node) => node.state === 'present');
}

/** The versions from the tail backwards, each once. */
function pathTo(tail: ChainNode): ChainNode[] {
  const path: ChainNode[] = [];
  const visited = new Set<ChainNode>();
  for (let node: ChainNode | null = tail; node !== null && !visited.has(node); node = predecessorOf(node)) {
    visited.add(node);
    path.push(node);
  }
  return path;
}

/**
 * The version named in `replaces`; else, of the versions that name this one in `replacedBy`, the one with the greatest
 * id.
 */
function predecessorOf(node: ChainNode): ChainNode | null {
  let found: ChainNode | null = null;
  for (const earlier of node.earlier) {
    if (earlier.id === node.replaces) return earlier;
    if (found === null || earlier.id > found.id) found = earlier;
  }
  return found;
}

/** Whether a version on the path to `end` names another successor in its `replacedBy`. `known` caches the answers. */
function isDisowned(end: ChainNode, known: Map<ChainNode, boolean>): boolean {
  const way: ChainNode[] = [];
  const position = new Map<ChainNode, number>();
  let node: ChainNode | null = end;
  while (node !== null && !known.has(node) && !position.has(node)) {
    position.set(node, way.length);
    way.push(node);
    node = predecessorOf(node);
  }
  // In a loop, all versions get the same answer, wherever the walk entered it.
  const loopAt = node === null ? undefined : position.get(node);
  if (loopAt !== undefined) {
    const loop = way.splice(loopAt);
    const isAny = loop.some((later) => disownsStep(predecessorOf(later), later));
    for (const member of loop) known.set(member, isAny);
  }
  for (let later = way.pop(); later !== undefined; later = way.pop()) {
    const earlier = predecessorOf(later);
    const isEarlier = earlier !== null && known.get(earlier) === true;
    known.set(later, isEarlier || disownsStep(earlier, later));
  }
  return known.get(end) === true;
}

function disownsStep(earlier: ChainNode | null, later: ChainNode): boolean {
  if (earlier === null || earlier.replacedBy === null || earlier.replacedBy === later.id) return false;
  return earlier.later.some((other) => other.id === earlier.replacedBy && canEnd(other));
}
