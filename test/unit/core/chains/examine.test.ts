import { describe, expect, it } from 'vitest';
import { examine, type Examination } from '../../../../src/core/chains/examine.ts';
import type { VersionEntry } from '../../../../src/core/chains/knowledge.ts';

const UNKNOWN: VersionEntry = {
  state: 'unresolved',
  replaces: null,
  replacedBy: null,
  linkedFrom: ['a'],
  isDeleted: false,
  student: 0,
  absenceId: null,
  isSettled: true,
};

/** `a` is at the hub and belongs to no absence; it says that `b` replaced it, of which nothing else is known. */
function examineReplaced(unreadable: ReadonlySet<string>): Examination {
  const versions = new Map<string, VersionEntry>([
    ['a', { ...UNKNOWN, state: 'present', replacedBy: 'b', linkedFrom: [], student: 1 }],
    ['b', UNKNOWN],
  ]);
  const absences = new Map([...versions.keys()].map((id) => [id, null] as const));
  return examine({ rows: [], revisit: ['a'], knowledge: { versions, absences }, unreadable });
}

describe('an index made again', () => {
  it('takes for forgotten what waits for a version that could not be read', () => {
    const { untold, untoldOver } = examineReplaced(new Set(['b']));
    expect({ untold, untoldOver }).toEqual({ untold: ['a'], untoldOver: [] });
  });

  it('tells a forgotten chain again whose end the hub has no more', () => {
    const { untold, untoldOver } = examineReplaced(new Set());
    expect({ untold, untoldOver }).toEqual({ untold: [], untoldOver: ['a'] });
  });
});
