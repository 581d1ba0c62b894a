import { graphOf, type ChainGraph, type ChainNode } from './chain-node.ts';
import { shapeOf } from './chain-shape.ts';
import { claimsOf, isAlive } from './claims.ts';
import type { ChainInput } from './cluster.ts';
import { contradictionsIn, type Contradiction } from './contradictions.ts';

export interface ExaminationInput extends ChainInput {
  /** Ids of versions that the hub has, but that could not be read. */
  readonly unreadable?: ReadonlySet<string> | undefined;
}

export interface Examination {
  /** Versions of chains that no published absence belongs to, and that have a tail not deleted. */
  readonly unpublished: readonly string[];
  /**
   * The same, but the tail is deleted, or replaced by a version that the hub has no more: never published, or published as deleted
   * so long ago that it was forgotten.
   */
  readonly unpublishedEnded: readonly string[];
  readonly contradictions: readonly Contradiction[];
}

/**
 * What is to be said of chains as an index made again from the topics knows them (rule 15 in resolve.ts). Publishes
 * nothing.
 *
 * @throws Error if something was not looked up that `missing` asks for
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
    // Where all came after the last complete full sync, nothing can have been published and forgotten. One that came before
    // was published then: what came since may be no more than another content of what was forgotten.
    const present = nodes.filter(({ state }) => state === 'present');
    const isNew = present.every(({ before }) => before?.isResolved === false);
    const ids = isOver && !isNew ? unpublishedEnded : unpublished;
    for (const { id } of present) ids.push(id);
  }
  return { unpublished, unpublishedEnded, contradictions };
}

/**
 * Versions of chains of which the hub still has some version. Of others nothing needs to be remembered.
 *
 * @throws Error if something was not looked up that `missing` asks for
 */
export function ofChainsAtHub(input: ChainInput): ReadonlySet<string> {
  const chains = graphOf(input).components.filter((nodes) => nodes.some(({ state }) => state === 'present'));
  return new Set(chains.flatMap((nodes) => nodes.map(({ id }) => id)));
}

/** It says that another one replaced it, which the hub does not have. One that cannot be read keeps its chain waiting. */
function isReplaced(
  { id, replacedBy }: ChainNode,
  known: { graph: ChainGraph; unreadable: ReadonlySet<string> | undefined },
): boolean {
  if (replacedBy === null || replacedBy === id) return false;
  return known.graph.known.get(replacedBy)?.state !== 'present' && known.unreadable?.has(replacedBy) !== true;
}
