import { graphOf, studentOfChain, type ChainNode } from './chain-node.ts';
import { shapeOf } from './chain-shape.ts';
import { isAlive, type NamedAbsence } from './claims.ts';
import type { ChainInput } from './cluster.ts';
import type { VersionEntry } from './chain-state.ts';

/**
 * Assigns the versions of published chains to their absences after an import (rule 15 in chain-rules.ts), as in the
 * index that published them. The log names the absence only of the last published version, and which older events
 * remain depends on compaction. Left out: versions that arrived since the chain was published, and chains to which no
 * absence or several lead. Returns only changed entries.
 *
 * @throws Error if the chain state lacks an entry that `missing` asks for
 */
export function publishedNames(input: ChainInput): ReadonlyMap<string, VersionEntry> {
  const graph = graphOf(input);
  const published = new Map<number, NamedAbsence[]>();
  /**
   * Live absences whose last record was published under another absence since: only their other versions still lead to
   * them.
   */
  const homeless = new Set<string>();
  for (const id of graph.cluster.absences) {
    const entry = input.chainState.absences.get(id) ?? null;
    const node = entry === null ? undefined : graph.known.get(entry.publishedVersionId);
    if (entry === null || node === undefined) continue;
    if ((node.before?.absenceId ?? id) !== id) {
      if (isAlive({ id, entry }) && !entry.isPublishedAsDeleted) homeless.add(id);
      continue;
    }
    const same = published.get(node.component) ?? [];
    published.set(node.component, [...same, { id, entry }]);
  }
  const changes = new Map<string, VersionEntry>();
  for (const [component, absences] of published) {
    const nodes = graph.components[component] ?? [];
    const alive = absences.filter((absence) => isAlive(absence) && !absence.entry.isPublishedAsDeleted);
    const [name, another] = alive.length > 0 ? alive : ofTail(absences.filter(isAlive), nodes);
    if (name === undefined || another !== undefined) continue;
    const student = studentOfChain(nodes);
    if ((graph.studentsByAbsence.get(name.id) ?? student) !== student) continue;
    for (const { id, before, state } of nodes) {
      if (state !== 'present' && state !== 'vanished') continue;
      if (before === null || !before.isResolved || before.absenceId === name.id) continue;
      if (before.absenceId !== null && homeless.has(before.absenceId)) continue;
      changes.set(id, { ...before, absenceId: name.id });
    }
  }
  return changes;
}

/**
 * Of several deleted absences, the chain belongs to the one whose last event names the tail. The others no longer have
 * it.
 */
function ofTail(ended: readonly NamedAbsence[], nodes: readonly ChainNode[]): readonly NamedAbsence[] {
  if (ended.length < 2) return ended;
  const { tail } = shapeOf(nodes);
  return ended.filter(({ entry }) => entry.publishedVersionId === tail?.id);
}
