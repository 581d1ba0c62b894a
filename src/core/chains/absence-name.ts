import type { ChainGraph, ChainNode } from './chain-node.ts';
import type { ChainShape } from './chain-shape.ts';
import type { ChainKnowledge } from './knowledge.ts';

/** Rule 12 of the design note in resolve.ts. An id under which its versions were published before, and that nobody has now, comes first. */
export function nameOf(parts: {
  knowledge: ChainKnowledge;
  graph: ChainGraph;
  nodes: readonly ChainNode[];
  shape: ChainShape;
  taken: ReadonlySet<string>;
}): string {
  const { path, tail } = parts.shape;
  const isFree = (id: string): boolean => {
    if (parts.taken.has(id) || (parts.knowledge.absences.get(id) ?? null) !== null) return false;
    // The other chain may need it.
    const owner = parts.graph.known.get(id);
    return owner === undefined || owner.component === tail?.component;
  };
  const earlier = path.map(({ before }) => before?.absenceId ?? null).filter((id) => id !== null);
  const names = [...earlier, ...path.map(({ id }) => id)];
  const name = names.find((id) => isFree(id)) ?? parts.nodes.find(({ id }) => isFree(id))?.id;
  if (name === undefined) throw new Error('the id of a version can only be taken by its own chain');
  return name;
}
