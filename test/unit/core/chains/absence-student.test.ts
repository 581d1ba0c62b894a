import { expect, it } from 'vitest';
import { studentsByAbsence } from '../../../../src/core/chains/absence-student.ts';
import type { AbsenceEntry, VersionEntry } from '../../../../src/core/chains/chain-state.ts';

const [A, B] = [1, 2];

function versionOf(student: number, absenceId: string): VersionEntry {
  return {
    state: 'present',
    replaces: null,
    replacedBy: null,
    linkedFrom: [],
    isDeleted: false,
    student,
    absenceId,
    isResolved: false,
  };
}

const publishedAs = (publishedVersionId: string): AbsenceEntry => ({
  step: 3,
  publishedVersionId,
  isPublishedAsDeleted: false,
  mergedInto: null,
  since: 1,
  student: 0,
});

it('an absence whose last published version now belongs to another absence stays with the student of the version that gave it its id', () => {
  const versions = new Map([
    ['b-second', versionOf(B, 'm-first')],
    ['m-first', versionOf(A, 'm-first')],
    ['n-second', versionOf(B, 'm-first')],
    ['z-last', versionOf(A, 'z-last')],
  ]);
  const absences = new Map([
    ['m-first', publishedAs('z-last')],
    ['z-last', publishedAs('z-last')],
  ]);
  for (const ids of [[...versions.keys()], [...versions.keys()].toReversed()])
    expect(studentsByAbsence({ versions, absences }, ids).get('m-first')).toBe(A);
});
