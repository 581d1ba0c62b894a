import type { ChainGraph, ChainNode } from './chain-node.ts';
import type { ChainShape } from './chain-shape.ts';
import { isAlive, type NamedAbsence } from './claims.ts';

/** Which versions of a deferred chain are to be revisited: those touched in this resolution, or all. */
export type Deferred = 'touched' | 'all';

/** Unresolved ids that a chain waits for. Only references from versions at the hub count. */
export function awaitedBy(nodes: readonly ChainNode[]): readonly string[] {
  return nodes.filter((node) => isAwaited(node)).map(({ id }) => id);
}

function isAwaited(node: ChainNode): boolean {
  if (node.state !== 'unresolved') return false;
  return [...node.later, ...node.earlier].some((neighbour) => neighbour.state === 'present');
}

export function isToRevisit(node: ChainNode, deferred: Deferred | null): boolean {
  if (node.state !== 'present' && node.state !== 'vanished') return false;
  return deferred === 'all' || node.isTouched || node.before?.isResolved === false;
}

/**
 * Whether a chain must wait for the end of the sync, and which of its versions to revisit then. When part of a chain
 * vanishes, more of it often follows, and only the end of the sync shows what remains (rule 9).
 */
export function whyDeferred(parts: {
  nodes: readonly ChainNode[];
  shape: ChainShape;
  owned: readonly NamedAbsence[];
  graph: ChainGraph;
  waitingFor: readonly string[];
}): Deferred | null {
  if (parts.shape.tail === null) return null;
  if (hasLostItsTail(parts)) return 'all';
  return parts.waitingFor.length > 0 || parts.nodes.some(isVanishing) ? 'touched' : null;
}

function isVanishing(node: ChainNode): boolean {
  return node.state === 'vanished' && (node.isTouched || node.before?.isResolved === false);
}

function hasLostItsTail(
  parts: Pick<Parameters<typeof whyDeferred>[0], 'shape' | 'owned' | 'graph'>,
): boolean {
  const published = parts.owned.find(isAlive)?.entry;
  if (published === undefined || published.isPublishedAsDeleted) return false;
  if (parts.graph.known.get(published.publishedVersionId)?.state === 'present') return false;
  return !parts.shape.path.some(({ id }) => id === published.publishedVersionId);
}
