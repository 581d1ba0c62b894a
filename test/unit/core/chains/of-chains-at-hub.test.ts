import { describe, expect, it } from 'vitest';
import { ofChainsAtHub } from '../../../../src/core/chains/examine.ts';
import type { VersionEntry } from '../../../../src/core/chains/chain-state.ts';

function entry(fields: Partial<VersionEntry>): VersionEntry {
  return {
    state: 'vanished',
    replaces: null,
    replacedBy: null,
    linkedFrom: [],
    isDeleted: false,
    student: 1,
    absenceId: null,
    isResolved: false,
    ...fields,
  };
}

/** The chain is a ↔ b ↔ c, and the question starts at b. */
function seenFromTheMiddle(ends: VersionEntry['state']): ReadonlySet<string> {
  const versions = new Map([
    ['a', entry({ state: ends, replacedBy: 'b' })],
    ['b', entry({ replaces: 'a', replacedBy: 'c' })],
    ['c', entry({ state: ends, replaces: 'b', isDeleted: true })],
  ]);
  const absences = new Map([...versions.keys()].map((id) => [id, null] as const));
  return ofChainsAtHub({ rows: [], revisit: ['b'], chainState: { versions, absences } });
}

describe('a rebuilt index', () => {
  it('keeps a departed version that links a chain at the hub together', () => {
    expect([...seenFromTheMiddle('present')].sort()).toEqual(['a', 'b', 'c']);
  });

  it('drops a chain whose versions have all departed', () => {
    expect([...seenFromTheMiddle('vanished')]).toEqual([]);
  });
});
