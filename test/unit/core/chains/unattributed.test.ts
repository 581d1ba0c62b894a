import { describe, expect, it } from 'vitest';
import type { ChainRow } from '../../../../src/core/chains/chain-state.ts';
import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { ChainShell } from './support/chain-shell.ts';

function version(id: string, studentId: string | null, replaces: string | null): ChainRow {
  return { id, studentId, replaces, replacedBy: null, isDeleted: false };
}

describe('a version that names no student', () => {
  it('replaces the version that it names', () => {
    const shell = new ChainShell(resolve);
    shell.deliver({ rows: [version('a', 's', null), version('b', null, 'a')], mode: 'final' });
    expect([...shell.currents]).toEqual([['a', 'b']]);
  });

  it('does not join the records of two students', () => {
    const shell = new ChainShell(resolve);
    shell.deliver({
      rows: [version('a', 's', null), version('b', null, 'a'), version('c', 'other', 'b')],
      mode: 'final',
    });
    expect(shell.currents.get('a')).toBe('a');
    const ofOther = shell.steps.filter(({ versionId }) => versionId === 'c');
    expect(ofOther.map(({ absenceId, previousVersionId }) => [absenceId, previousVersionId])).toEqual([
      ['c', null],
    ]);
  });
});
