import { mayHaveGivenItsId, ownAbsenceIds, studentsByAbsence } from './absence-student.ts';
import { isKnownPlaceholder } from './placeholder-ids.ts';
import { studentFingerprint, type ChainState, type ChainRow } from './chain-state.ts';

/** What a resolution starts from. */
export interface ChainInput {
  /** New or changed versions; where an id comes twice, the last one counts. */
  readonly rows: readonly ChainRow[];
  /** Ids that the hub was asked for and does not have. It removes nothing that is known (invariant 3). */
  readonly gone?: readonly string[] | undefined;
  /** Versions whose removal from the hub is resolved (invariant 3). */
  readonly vanished?: readonly string[] | undefined;
  /** Versions that were left unresolved earlier. */
  readonly revisit?: readonly string[] | undefined;
  readonly chainState: ChainState;
}

/** Everything that the outcome may depend on, and what is not known of it yet. */
export interface Cluster {
  readonly versions: ReadonlySet<string>;
  readonly absences: ReadonlySet<string>;
  readonly unknownVersions: readonly string[];
  readonly unknownAbsences: readonly string[];
}

/**
 * Closes the input over links in both directions, as they were and as they are, over the absences of versions, over the
 * versions that gave absences their ids or are named by their last events, and over the ids that an absence may get where a
 * version's own is another student's absence already (rule 16).
 */
export function clusterOf(input: ChainInput, rows: ReadonlyMap<string, ChainRow>): Cluster {
  const { chainState } = input;
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
      const entry = chainState.absences.get(next);
      if (entry === undefined) unknownAbsences.push(next);
      if (entry === undefined || entry === null) return;
      addVersion(next);
      addVersion(entry.publishedVersionId);
      next = entry.mergedInto;
    }
  };
  for (const id of rows.keys()) addVersion(id);
  for (const ids of [input.vanished, input.revisit]) for (const id of ids ?? []) addVersion(id);
  const close = (id: string): void => {
    const row = rows.get(id);
    if (row !== undefined) {
      addVersion(row.replaces);
      addVersion(row.replacedBy);
    }
    addAbsence(id);
    const entry = chainState.versions.get(id);
    if (entry === undefined) unknownVersions.push(id);
    if (entry === undefined || entry === null) return;
    addVersion(entry.replaces);
    addVersion(entry.replacedBy);
    if (!isKnownPlaceholder(entry)) for (const other of entry.linkedFrom) addVersion(other);
    if (entry.absenceId !== null) addAbsence(entry.absenceId);
  };
  do {
    for (let id = todo.pop(); id !== undefined; id = todo.pop()) close(id);
    for (const id of ownIdsNeeded({ chainState, rows, versions })) addVersion(id);
  } while (todo.length > 0);
  return { versions, absences, unknownVersions, unknownAbsences };
}

/** Of each version whose id bears an absence that is not of its student: ids up to the first that nothing has. */
function ownIdsNeeded(parts: {
  chainState: ChainState;
  rows: ReadonlyMap<string, ChainRow>;
  versions: ReadonlySet<string>;
}): readonly string[] {
  const { chainState, rows } = parts;
  const students = studentsByAbsence(chainState, parts.versions);
  const needed: string[] = [];
  for (const versionId of parts.versions) {
    const row = rows.get(versionId);
    const entry = chainState.versions.get(versionId) ?? null;
    if (row === undefined && entry?.state !== 'present') continue;
    if (!students.has(versionId) && !chainState.absences.get(versionId)) continue;
    const student = row === undefined ? entry?.student : studentFingerprint(row.studentId);
    const mayClaim = mayHaveGivenItsId(entry, versionId, chainState.absences.get(versionId) ?? null);
    if (mayClaim && students.get(versionId) === student) continue;
    for (const id of ownAbsenceIds(versionId)) {
      needed.push(id);
      // Also of what is forgotten a version may still know whose it was.
      const isTaken =
        rows.has(id) ||
        students.has(id) ||
        Boolean(chainState.versions.get(id)) ||
        Boolean(chainState.absences.get(id));
      if (!isTaken) break;
    }
  }
  return needed;
}

/** By id; the last of an id counts. */
export function rowsById(rows: readonly ChainRow[]): Map<string, ChainRow> {
  return new Map(rows.map((row) => [row.id, row]));
}
