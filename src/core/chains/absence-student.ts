import { compositeKey } from '../../model/keys.ts';
import type { AbsenceEntry, ChainState, VersionEntry } from './chain-state.ts';

/**
 * The student of each absence id (rule 16 in chain-rules.ts), as a {@link studentFingerprint}. Sources, best first: the
 * absence's own entry, the version published last, the version that gave the id, another version published under the
 * id. Ids without any record that names a student are left out.
 *
 * @param versionIds all versions that `chainState` may hold
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
    // Prefer the version that gave the id: the hub may have assigned the others to another student since.
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
    // A version published under another id since does not show this absence's student, unless the two were merged.
    const isUnderIt = (published.absenceId ?? absenceId) === absenceId;
    if (isUnderIt || (entry.mergedInto !== null && !students.has(absenceId)))
      students.set(absenceId, published.student);
  }
  return students;
}

/**
 * Yields absence ids for a version whose `sourcedId` is the id of another student's absence, in the order in which to
 * try them. Each is a key of two parts, in the notation of all composite keys.
 */
export function* ownAbsenceIds(versionId: string): Generator<string> {
  for (let number = 2; ; number += 1) yield compositeKey(versionId, `absence-${number}`);
}

/**
 * Whether a version may have given its `sourcedId` to an absence. False if Rollcall had not seen the version when the
 * id was given, or if the version was published under another id since, unless the two absences were merged.
 */
export function mayHaveGivenItsId(
  version: VersionEntry | null,
  versionId: string,
  absence: AbsenceEntry | null,
): boolean {
  if (version === null || (version.state !== 'present' && version.state !== 'vanished')) return false;
  return version.absenceId === null || version.absenceId === versionId || absence?.mergedInto !== null;
}
