import { describe, expect, it } from 'vitest';
import {
  studentFingerprint,
  type ChainKnowledge,
  type VersionEntry,
} from '../../../../src/core/chains/knowledge.ts';
import { resolve } from '../../../../src/core/chains/resolve.ts';

const TOLD: VersionEntry = {
  state: 'present',
  replaces: null,
  replacedBy: null,
  linkedFrom: [],
  isDeleted: false,
  student: studentFingerprint('s'),
  absenceId: null,
  isSettled: true,
};

/** A rebuilt index knows a ← b ← c (deleted) like this: all of it was published and has expired, and the log says that `a` has departed. */
function knowForgotten(): ChainKnowledge {
  const versions = new Map<string, VersionEntry | null>([
    ['a', { ...TOLD, state: 'vanished', linkedFrom: ['b'], isSettled: false }],
    ['b', { ...TOLD, replaces: 'a', linkedFrom: ['c'] }],
    ['c', { ...TOLD, replaces: 'b', isDeleted: true }],
  ]);
  return { versions, absences: new Map([...versions.keys()].map((id) => [id, null])) };
}

describe('an absence whose events expired', () => {
  it('is not published again when one of its versions changes and is deferred', () => {
    const knowledge = knowForgotten();
    const row = { id: 'b', replaces: 'a', replacedBy: 'c', isDeleted: false, studentId: 's' };
    const held = resolve({ rows: [row], knowledge, mode: 'page', sequence: 1 });
    expect(held.open.flatMap(({ versionIds }) => [...versionIds]).sort()).toEqual(['a', 'b']);

    const versions = new Map([...knowledge.versions, ...held.versions]);
    const told = resolve({
      rows: [],
      revisit: ['a', 'b'],
      knowledge: { ...knowledge, versions },
      mode: 'final',
      sequence: 2,
    });
    expect(told.steps).toEqual([]);
    expect(told.currents).toEqual([]);
    expect(told.versions.get('b')?.isSettled).toBe(true);
  });
});
