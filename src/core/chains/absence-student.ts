import { compositeKey } from '../../model/keys.ts';
import type { AbsenceEntry, ChainState, VersionEntry } from './chain-state.ts';

/**
 * Whose records stand under each absence id (rule 16 of the design note in resolve.ts), by {@link studentFingerprint}:
 * as the absence itself knows, else those of the version published last, else of the one that gave the id, else of another
 * published under it. An id that no named student's record was published under is left out.
 *
 * @param versionIds all versions that `knowledge` may hold
 */
export function studentsByAbsence(
  chainState: ChainState,
  versionIds: Iterable<string>,
): ReadonlyMap<string, number> {
  const students = new Map<string, number>();
  const chosen = new Map<string, string>();
  for (const id of versionIds) {
    const { absenceId = null, student = 0 } = chainState.versions.get(id) ?? {};
    if (absenceId === null || student === 0) continue;
    // The hub may have given the others to another student since.
    const other = chosen.get(absenceId);
    if (other !== undefined && id !== absenceId && (other === absenceId || other < id)) continue;
    chosen.set(absenceId, id);
    students.set(absenceId, student);
  }
  for (const [absenceId, entry] of chainState.absences) {
    if (entry !== null && entry.student !== 0) {
      students.set(absenceId, entry.student);
      continue;
    }
    const published = chainState.versions.get(entry?.publishedVersionId ?? '') ?? null;
    if (entry === null || published === null || published.student === 0) continue;
    // What was published under another id since says nothing of this one, but where the two were merged.
    const isUnderIt = (published.absenceId ?? absenceId) === absenceId;
    if (isUnderIt || (entry.mergedInto !== null && !students.has(absenceId)))
      students.set(absenceId, published.student);
  }
  return students;
}

/**
 * Absence ids for a version whose `sourcedId` another student's absence bears, in the order in which they are tried: a
 * key of two parts, written like every other one.
 */
export function* ownAbsenceIds(versionId: string): Generator<string> {
  for (let number = 2; ; number += 1) yield compositeKey(versionId, `absence-${number}`);
}

/**
 * Whether a version may be the one that gave its `sourcedId` to an absence. One that nobody had seen when the id was given
 * is not, nor one that was itself published under another id since, unless the two were merged.
 */
export function mayHaveGivenItsId(
  version: VersionEntry | null,
  versionId: string,
  absence: AbsenceEntry | null,
): boolean {
  if (version === null || (version.state !== 'present' && version.state !== 'vanished')) return false;
  return version.absenceId === null || version.absenceId === versionId || absence?.mergedInto !== null;
}
