import type { AbsenceEntry, VersionEntry } from './chain-state.ts';

/*
 * Most chains are one version, which nothing refers to and which is published under its own id. What the index holds of
 * such a version follows from the entry of its absence. So it has no entry of its own: the absence's says that it stands
 * for the version too.
 */

/** The entry of the version that an absence stands for. */
export function loneVersionOf(absenceId: string, { student }: AbsenceEntry): VersionEntry {
  return {
    state: 'present',
    replaces: null,
    replacedBy: null,
    linkedFrom: [],
    isDeleted: false,
    student,
    absenceId,
    isResolved: true,
  };
}

/** Whether {@link loneVersionOf} gives the entry of the version that has the absence's id. */
export function isLoneVersion(
  id: string,
  version: VersionEntry | null,
  absence: AbsenceEntry | null,
): version is VersionEntry {
  return (
    version !== null &&
    absence !== null &&
    !absence.isPublishedAsDeleted &&
    absence.mergedInto === null &&
    version.state === 'present' &&
    version.replaces === null &&
    version.replacedBy === null &&
    version.linkedFrom.length === 0 &&
    !version.isDeleted &&
    version.student === absence.student &&
    version.absenceId === id &&
    version.isResolved
  );
}
