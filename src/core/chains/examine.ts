import { graphOf, type ChainGraph, type ChainNode } from './chain-node.ts';
import { shapeOf } from './chain-shape.ts';
import { claimsOf, isAlive } from './claims.ts';
import type { ChainInput } from './cluster.ts';
import { contradictionsIn, type Contradiction } from './contradictions.ts';

export interface Examination {
  /** Versions of chains that no published absence belongs to, and that have a tail not deleted. */
  readonly untold: readonly string[];
  /**
   * The same, but the tail is deleted, or replaced by a version that the hub has no more: never told, or told deleted
   * so long ago that it was forgotten.
   */
  readonly untoldOver: readonly string[];
  readonly contradictions: readonly Contradiction[];
}

/**
 * What is to be said of chains as an index made again from the topics knows them (rule 15 in resolve.ts). Publishes
 * nothing.
 *
 * @throws Error if something was not looked up that `missing` asks for
 */
export function examine(input: ChainInput): Examination {
  const graph = graphOf(input);
  const claims = claimsOf(graph, input.knowledge);
  const untold: string[] = [];
  const untoldOver: string[] = [];
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
    const isOver = shape.tail.isDeleted || isReplaced(shape.tail, graph);
    // What is not settled came after all was told that was there: it cannot have been told and forgotten.
    const isNew = nodes.some(({ before, state }) => state === 'present' && before?.isSettled === false);
    const ids = isOver && !isNew ? untoldOver : untold;
    for (const { id, state } of nodes) if (state === 'present') ids.push(id);
  }
  return { untold, untoldOver, contradictions };
}

/** It says that another one replaced it, which the hub does not have. */
function isReplaced({ id, replacedBy }: ChainNode, graph: ChainGraph): boolean {
  return replacedBy !== null && replacedBy !== id && graph.known.get(replacedBy)?.state !== 'present';
}
