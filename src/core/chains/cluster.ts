import { isKnownCrowd } from './crowd.ts';
import type { ChainKnowledge, ChainRow } from './knowledge.ts';

/** What a resolution starts from. */
export interface ChainInput {
  /** New or changed versions; where an id comes twice, the last one counts. */
  readonly rows: readonly ChainRow[];
  /** Ids that the hub was asked for and does not have. It removes nothing that is known (invariant 3). */
  readonly gone?: readonly string[] | undefined;
  /** Versions whose removal from the hub is settled (invariant 3). */
  readonly vanished?: readonly string[] | undefined;
  /** Versions that were left unsettled earlier. */
  readonly revisit?: readonly string[] | undefined;
  readonly knowledge: ChainKnowledge;
}

/** Everything that the outcome may depend on, and what is not known of it yet. */
export interface Cluster {
  readonly versions: ReadonlySet<string>;
  readonly absences: ReadonlySet<string>;
  readonly unknownVersions: readonly string[];
  readonly unknownAbsences: readonly string[];
}

/**
 * Closes the input over links in both directions, as they were and as they are, over the absences of versions, and over
 * the versions that gave absences their ids or were last told of them.
 */
export function clusterOf(input: ChainInput, rows: ReadonlyMap<string, ChainRow>): Cluster {
  const { knowledge } = input;
  const versions = new Set<string>();
  const absences = new Set<string>();
  const unknownVersions: string[] = [];
  const unknownAbsences: string[] = [];
  const todo: string[] = [];
  const addVersion = (id: string | null): void => {
    if (id === null || versions.has(id)) return;
    versions.add(id);
    todo.push(id);
  };
  const addAbsence = (id: string): void => {
    for (let next: string | null = id; next !== null && !absences.has(next);) {
      absences.add(next);
      const entry = knowledge.absences.get(next);
      if (entry === undefined) unknownAbsences.push(next);
      if (entry === undefined || entry === null) return;
      addVersion(next);
      addVersion(entry.toldVersionId);
      next = entry.mergedInto;
    }
  };
  for (const id of rows.keys()) addVersion(id);
  for (const ids of [input.vanished, input.revisit]) for (const id of ids ?? []) addVersion(id);
  for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
    const row = rows.get(id);
    if (row !== undefined) {
      addVersion(row.replaces);
      addVersion(row.replacedBy);
    }
    addAbsence(id);
    const entry = knowledge.versions.get(id);
    if (entry === undefined) unknownVersions.push(id);
    if (entry === undefined || entry === null) continue;
    addVersion(entry.replaces);
    addVersion(entry.replacedBy);
    if (!isKnownCrowd(entry)) for (const other of entry.linkedFrom) addVersion(other);
    if (entry.absenceId !== null) addAbsence(entry.absenceId);
  }
  return { versions, absences, unknownVersions, unknownAbsences };
}

/** By id; the last of an id counts. */
export function rowsById(rows: readonly ChainRow[]): Map<string, ChainRow> {
  return new Map(rows.map((row) => [row.id, row]));
}
