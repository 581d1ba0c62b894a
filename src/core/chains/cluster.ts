import { mayHaveGivenItsId, ownAbsenceIds, studentsByAbsence } from './absence-student.ts';
import { isKnownPlaceholder } from './placeholder-ids.ts';
import { studentFingerprint, type ChainState, type ChainRow } from './chain-state.ts';

/** The input of a resolution. */
export interface ChainInput {
  /** New or changed versions; of two rows with one id, the last counts. */
  readonly rows: readonly ChainRow[];
  /** Ids that the hub was asked for and does not have. This removes no known version (invariant 3). */
  readonly gone?: readonly string[] | undefined;
  /** Versions whose removal from the hub is confirmed (invariant 3). */
  readonly vanished?: readonly string[] | undefined;
  /** Versions that earlier resolutions left unresolved. */
  readonly revisit?: readonly string[] | undefined;
  readonly chainState: ChainState;
}

/** Everything that the result may depend on, and which of it is not looked up yet. */
export interface Cluster {
  readonly versions: ReadonlySet<string>;
  readonly absences: ReadonlySet<string>;
  readonly unknownVersions: readonly string[];
  readonly unknownAbsences: readonly string[];
}

/**
 * Computes the closure of the input over: old and new links in both directions; the absences of versions; the versions
 * that gave absences their ids or that last events name; the ids that an absence may get if its version's own id
 * belongs to another student's absence (rule 16).
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

/** For each version whose id is the id of another student's absence: the ids to try, up to the first that is unused. */
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
      // A version may still know the student of a forgotten absence, so forgotten ids count as taken too.
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

/** Rows by id; of several with one id, the last counts. */
export function rowsById(rows: readonly ChainRow[]): Map<string, ChainRow> {
  return new Map(rows.map((row) => [row.id, row]));
}
