import { describe, expect, it } from 'vitest';
import {
  studentFingerprint,
  type ChainState,
  type VersionEntry,
} from '../../../../src/core/chains/chain-state.ts';
import { resolve } from '../../../../src/core/chains/chain-rules.ts';

const PUBLISHED: VersionEntry = {
  state: 'present',
  replaces: null,
  replacedBy: null,
  linkedFrom: [],
  isDeleted: false,
  student: studentFingerprint('s'),
  absenceId: null,
  isResolved: true,
};

/** A rebuilt index knows a ← b ← c (deleted) like this: all of it was published and has expired, and the log says that `a` has departed. */
function knowForgotten(): ChainState {
  const versions = new Map<string, VersionEntry | null>([
    ['a', { ...PUBLISHED, state: 'vanished', linkedFrom: ['b'], isResolved: false }],
    ['b', { ...PUBLISHED, replaces: 'a', linkedFrom: ['c'] }],
    ['c', { ...PUBLISHED, replaces: 'b', isDeleted: true }],
  ]);
  return { versions, absences: new Map([...versions.keys()].map((id) => [id, null])) };
}

describe('an absence whose events expired', () => {
  it('is not published again when one of its versions changes and is deferred', () => {
    const chainState = knowForgotten();
    const row = { id: 'b', replaces: 'a', replacedBy: 'c', isDeleted: false, studentId: 's' };
    const held = resolve({ rows: [row], chainState, mode: 'page', sequence: 1 });
    expect(held.open.flatMap(({ versionIds }) => [...versionIds]).sort()).toEqual(['a', 'b']);

    const versions = new Map([...chainState.versions, ...held.versions]);
    const result = resolve({
      rows: [],
      revisit: ['a', 'b'],
      chainState: { ...chainState, versions },
      mode: 'final',
      sequence: 2,
    });
    expect(result.steps).toEqual([]);
    expect(result.currents).toEqual([]);
    expect(result.versions.get('b')?.isResolved).toBe(true);
  });
});
