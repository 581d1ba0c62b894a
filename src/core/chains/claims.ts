import { mayHaveGivenItsId } from './absence-student.ts';
import { studentOfChain, type ChainGraph, type ChainNode } from './chain-node.ts';
import type { AbsenceEntry, ChainState } from './chain-state.ts';

/** A published absence with its id. */
export interface NamedAbsence {
  readonly id: string;
  readonly entry: AbsenceEntry;
}

/** Not merged into another absence. */
export function isAlive({ entry }: NamedAbsence): boolean {
  return entry.mergedInto === null;
}

/** The published absences of each component; the one that continues comes first. */
export type Claims = ReadonlyMap<number, readonly NamedAbsence[]>;

const IS_PUBLISHED_AND_CHANGED_STUDENT = 0;
const GAVE_ITS_ID_AND_DEPARTED = 1;
const MEMBER = 2;
const PUBLISHED = 3;
const GAVE_ITS_ID = 4;
const HAS_VERSIONS = 8;

/**
 * Assigns each published absence to a component (rule 14). In order of preference: the component with the version that
 * gave the absence its id, since then no other chain needs that id; with the version published last; with a version
 * published under it. A component of which the hub still has a version comes before all others. Among equals, the least
 * id decides. A component of another student never gets the absence (rule 16), unless it holds the version published
 * last itself, whose student the hub has changed.
 */
export function claimsOf(graph: ChainGraph, chainState: ChainState): Claims {
  const best = new Map<string, { component: number; strength: number; leastId: string }>();
  const hasVersions = graph.components.map((nodes) => nodes.some(({ state }) => state === 'present'));
  const memberOf = ({ before }: ChainNode): string | null =>
    before === null || before.absenceId === null || chainState.absences.get(before.absenceId) === null
      ? null
      : before.absenceId;
  const isPublished = graph.components.map((nodes) => nodes.some((node) => memberOf(node) !== null));
  const students = graph.components.map((nodes) => studentOfChain(nodes));
  const claim = (node: ChainNode, absenceId: string, asWhat: number): void => {
    const student = graph.studentsByAbsence.get(absenceId);
    const isOther = student !== undefined && student !== students[node.component];
    const isChanged = asWhat === PUBLISHED && node.before !== null;
    if (isOther && !isChanged) return;
    const kind = isOther ? IS_PUBLISHED_AND_CHANGED_STUDENT : asWhat;
    const strength = kind + (hasVersions[node.component] === true ? HAS_VERSIONS : 0);
    const other = best.get(absenceId);
    if (other !== undefined && other.strength > strength) return;
    if (other?.strength === strength && other.leastId <= node.id) return;
    best.set(absenceId, { component: node.component, strength, leastId: node.id });
  };
  const claimAll = (node: ChainNode): void => {
    const absenceId = memberOf(node);
    if (absenceId !== null) claim(node, absenceId, MEMBER);
    const named = chainState.absences.get(node.id) ?? null;
    if (named === null) return;
    if (node.state === 'present') {
      if (mayHaveGivenItsId(node.before, node.id, named)) claim(node, node.id, GAVE_ITS_ID);
    }
    // A component with published versions uses another id now, so the departed version claims nothing for it.
    else if (!isPublished[node.component]) claim(node, node.id, GAVE_ITS_ID_AND_DEPARTED);
  };
  for (const node of graph.known.values()) claimAll(node);
  for (const danglingReferences of graph.danglingReferences.values())
    for (const dangling of danglingReferences.values()) claimAll(dangling);
  for (const id of graph.cluster.absences) {
    const entry = chainState.absences.get(id) ?? null;
    // A merged absence revives only by its own id: no version leads to it otherwise.
    if (entry === null || entry.mergedInto !== null) continue;
    const published = entry.publishedVersionId;
    const node = graph.known.get(published);
    // A version published under another id since belongs to that absence.
    if (node !== undefined && (node.before?.absenceId ?? id) === id) claim(node, id, PUBLISHED);
    for (const dangling of graph.danglingReferences.get(published)?.values() ?? [])
      claim(dangling, id, PUBLISHED);
  }
  return ordered(best, chainState);
}

function ordered(
  owners: ReadonlyMap<string, { component: number }>,
  chainState: ChainState,
): Map<number, NamedAbsence[]> {
  const claims = new Map<number, NamedAbsence[]>();
  for (const [id, { component }] of owners) {
    const entry = chainState.absences.get(id) ?? null;
    if (entry === null) continue;
    const same = claims.get(component);
    if (same === undefined) claims.set(component, [{ id, entry }]);
    else same.push({ id, entry });
  }
  for (const absences of claims.values()) absences.sort(byPrecedence);
  return claims;
}

/** The absence published first wins. A merged absence continues only where no other does. */
function byPrecedence(one: NamedAbsence, other: NamedAbsence): number {
  const merged = Number(one.entry.mergedInto !== null) - Number(other.entry.mergedInto !== null);
  if (merged !== 0) return merged;
  if (one.entry.since !== other.entry.since) return one.entry.since - other.entry.since;
  return one.id < other.id ? -1 : 1;
}
