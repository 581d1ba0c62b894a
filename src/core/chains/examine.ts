import { graphOf, type ChainGraph, type ChainNode } from './chain-node.ts';
import { shapeOf } from './chain-shape.ts';
import { claimsOf, isAlive } from './claims.ts';
import type { ChainInput } from './cluster.ts';
import { contradictionsIn, type Contradiction } from './contradictions.ts';

export interface ExaminationInput extends ChainInput {
  /** Ids of versions that the hub has and that could not be decoded. */
  readonly unreadable?: ReadonlySet<string> | undefined;
}

export interface Examination {
  /** Versions of chains without a published absence, whose tail is not deleted. */
  readonly unpublished: readonly string[];
  /**
   * Versions of chains without a published absence, whose tail is deleted or was replaced by a version that the hub
   * does not have. Such a chain was never published, or was published as deleted and forgotten.
   */
  readonly unpublishedEnded: readonly string[];
  readonly contradictions: readonly Contradiction[];
}

/**
 * Examines chains after an import (rule 15 in chain-rules.ts): which are unpublished, and which contradict themselves.
 * Publishes nothing.
 *
 * @throws Error if the chain state lacks an entry that `missing` asks for
 */
export function examine(input: ExaminationInput): Examination {
  const graph = graphOf(input);
  const claims = claimsOf(graph, input.chainState);
  const unpublished: string[] = [];
  const unpublishedEnded: string[] = [];
  const contradictions: Contradiction[] = [];
  const refused = Map.groupBy(graph.refused, ({ from }) => from.component);
  for (const [index, nodes] of graph.components.entries()) {
    const shape = shapeOf(nodes);
    const owned = claims.get(index) ?? [];
    const absenceId = owned.find(isAlive)?.id ?? null;
    for (const found of contradictionsIn({ graph, nodes, shape, refused: refused.get(index) ?? [] })) {
      contradictions.push({ ...found, absenceId });
    }
    if (owned.length > 0 || shape.tail === null) continue;
    const isOver = shape.tail.isDeleted || isReplaced(shape.tail, { graph, unreadable: input.unreadable });
    // If all versions arrived after the last complete full sync, the chain cannot have been published and forgotten. A
    // version that arrived before it was published then, and what arrived since may only be new content of a forgotten
    // absence.
    const present = nodes.filter(({ state }) => state === 'present');
    const isNew = present.every(({ before }) => before?.isResolved === false);
    const ids = isOver && !isNew ? unpublishedEnded : unpublished;
    for (const { id } of present) ids.push(id);
  }
  return { unpublished, unpublishedEnded, contradictions };
}

/**
 * Versions of chains of which the hub still has at least one. The index needs to remember nothing of the others.
 *
 * @throws Error if the chain state lacks an entry that `missing` asks for
 */
export function ofChainsAtHub(input: ChainInput): ReadonlySet<string> {
  const chains = graphOf(input).components.filter((nodes) => nodes.some(({ state }) => state === 'present'));
  return new Set(chains.flatMap((nodes) => nodes.map(({ id }) => id)));
}

/**
 * Whether a version says that a version replaced it which the hub does not have. An undecodable replacement keeps its
 * chain pending.
 */
function isReplaced(
  { id, replacedBy }: ChainNode,
  known: { graph: ChainGraph; unreadable: ReadonlySet<string> | undefined },
): boolean {
  if (replacedBy === null || replacedBy === id) return false;
  return known.graph.known.get(replacedBy)?.state !== 'present' && known.unreadable?.has(replacedBy) !== true;
}
