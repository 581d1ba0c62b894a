import { describe, expect, it } from 'vitest';
import { examine, type Examination } from '../../../../src/core/chains/examine.ts';
import type { VersionEntry } from '../../../../src/core/chains/chain-state.ts';

const UNKNOWN: VersionEntry = {
  state: 'unresolved',
  replaces: null,
  replacedBy: null,
  linkedFrom: ['a'],
  isDeleted: false,
  student: 0,
  absenceId: null,
  isResolved: true,
};

/** `a` is at the hub and belongs to no absence; its row names `b` as its replacement, and nothing else is known of `b`. */
function examineReplaced(unreadable: ReadonlySet<string>): Examination {
  const versions = new Map<string, VersionEntry>([
    ['a', { ...UNKNOWN, state: 'present', replacedBy: 'b', linkedFrom: [], student: 1 }],
    ['b', UNKNOWN],
  ]);
  const absences = new Map([...versions.keys()].map((id) => [id, null] as const));
  return examine({ rows: [], revisit: ['a'], chainState: { versions, absences }, unreadable });
}

describe('a rebuilt index', () => {
  it('counts a chain that waits for an unreadable version as unpublished, not as ended', () => {
    const { unpublished, unpublishedEnded } = examineReplaced(new Set(['b']));
    expect({ unpublished, unpublishedEnded }).toEqual({ unpublished: ['a'], unpublishedEnded: [] });
  });

  it('counts a chain whose last version the hub no longer has as ended', () => {
    const { unpublished, unpublishedEnded } = examineReplaced(new Set());
    expect({ unpublished, unpublishedEnded }).toEqual({ unpublished: [], unpublishedEnded: ['a'] });
  });
});
