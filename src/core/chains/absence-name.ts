import { ownAbsenceIds } from './absence-student.ts';
import { studentOfChain, type ChainGraph, type ChainNode } from './chain-node.ts';
import type { ChainShape } from './chain-shape.ts';
import type { ChainState } from './chain-state.ts';

/**
 * Chooses the id of a new absence (rules 12 and 16 in chain-rules.ts); claims.ts decides which chain keeps the id of a
 * published one. A free id under which versions of the chain were
 * published before comes first.
 */
export function nameOf(parts: {
  chainState: ChainState;
  graph: ChainGraph;
  nodes: readonly ChainNode[];
  shape: ChainShape;
  taken: ReadonlySet<string>;
}): string {
  const { graph, chainState, nodes } = parts;
  const { path, tail } = parts.shape;
  const student = studentOfChain(nodes);
  const isFree = (id: string): boolean => {
    if (parts.taken.has(id) || (chainState.absences.get(id) ?? null) !== null) return false;
    // Another student's versions were published under this id, and the absence was forgotten since.
    if ((graph.studentsByAbsence.get(id) ?? student) !== student) return false;
    // The id is a version of another chain, which may need it.
    const owner = graph.known.get(id);
    return owner === undefined || owner.component === tail?.component;
  };
  const earlier = path.map(({ before }) => before?.absenceId ?? null).filter((id) => id !== null);
  const names = [...earlier, ...path.map(({ id }) => id)];
  const name = names.find((id) => isFree(id)) ?? nodes.find(({ id }) => isFree(id))?.id;
  if (name !== undefined) return name;
  for (const { id, state } of [...path, ...nodes]) {
    if (state !== 'present') continue;
    for (const own of ownAbsenceIds(id)) {
      if (chainState.absences.get(own) === undefined) break;
      if (isFree(own) && !graph.known.has(own) && chainState.versions.get(own) === null) return own;
    }
  }
  throw new Error('the id of a version is taken by an absence of its own student that no chain owns');
}
