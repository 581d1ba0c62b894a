import { mayHaveGivenItsId } from './absence-student.ts';
import { studentOfChain, type ChainGraph, type ChainNode } from './chain-node.ts';
import type { AbsenceEntry, ChainState } from './chain-state.ts';

/** A published absence with its id. */
export interface NamedAbsence {
  readonly id: string;
  readonly entry: AbsenceEntry;
}

/** Not found to be another absence. */
export function isAlive({ entry }: NamedAbsence): boolean {
  return entry.mergedInto === null;
}

/** The published absences that belong to a component, the one that stays first. */
export type Claims = ReadonlyMap<number, readonly NamedAbsence[]>;

const IS_PUBLISHED_AND_CHANGED_STUDENT = 0;
const GAVE_ITS_ID_AND_DEPARTED = 1;
const MEMBER = 2;
const PUBLISHED = 3;
const GAVE_ITS_ID = 4;
const HAS_VERSIONS = 8;

/**
 * To which component each published absence belongs: where the version is that gave it its id, so that no other chain
 * needs that id; else where the last published version is; else where one is that was published under it. A component of
 * which the hub still has a version comes before all others; of equals, the one with the least id. Never to one of
 * another student (rule 16), unless that is the last published version itself, whose student the hub has changed.
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
    // Versions published under another id have left this one for good.
    else if (!isPublished[node.component]) claim(node, node.id, GAVE_ITS_ID_AND_DEPARTED);
  };
  for (const node of graph.known.values()) claimAll(node);
  for (const danglingReferences of graph.danglingReferences.values())
    for (const dangling of danglingReferences.values()) claimAll(dangling);
  for (const id of graph.cluster.absences) {
    const entry = chainState.absences.get(id) ?? null;
    // What was merged comes back by its own id only: nothing else leads from a version to it.
    if (entry === null || entry.mergedInto !== null) continue;
    const published = entry.publishedVersionId;
    const node = graph.known.get(published);
    // What was published under another id since is that one's.
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

/** The older publication wins; what was merged into another lives again only where nothing else does. */
function byPrecedence(one: NamedAbsence, other: NamedAbsence): number {
  const merged = Number(one.entry.mergedInto !== null) - Number(other.entry.mergedInto !== null);
  if (merged !== 0) return merged;
  if (one.entry.since !== other.entry.since) return one.entry.since - other.entry.since;
  return one.id < other.id ? -1 : 1;
}
