import { describe, expect, it } from 'vitest';
import { PLACEHOLDER_REFERENCES } from '../../../../src/core/chains/placeholder-ids.ts';
import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { ChainShell } from './support/chain-shell.ts';
import type { ChainRow } from '../../../../src/core/chains/chain-state.ts';

function versions(from: number, count: number): ChainRow[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `v${String(from + at).padStart(6, '0')}`,
    replaces: '0',
    replacedBy: null,
    isDeleted: false,
    studentId: 's',
  }));
}

describe('a placeholder id that very many versions refer to', () => {
  it('joins no versions: each of them is an absence of its own', () => {
    const shell = new ChainShell(resolve);
    shell.deliver({ rows: versions(0, PLACEHOLDER_REFERENCES + 50), mode: 'final' });
    expect(shell.steps.filter(({ operation }) => operation === 'CREATED')).toHaveLength(
      PLACEHOLDER_REFERENCES + 50,
    );
    expect(shell.currents.size).toBe(PLACEHOLDER_REFERENCES + 50);
  });

  it('stops collecting references at the limit, so a further version changes only its own entry', () => {
    const shell = new ChainShell(resolve);
    shell.deliver({ rows: versions(0, 2 * PLACEHOLDER_REFERENCES), mode: 'final' });
    const { versions: changes } = shell.deliver({
      rows: versions(2 * PLACEHOLDER_REFERENCES, 1),
      mode: 'final',
    });
    expect(changes.size).toBe(1);
    expect(shell.version('0')?.linkedFrom).toHaveLength(PLACEHOLDER_REFERENCES);
    expect(shell.steps.at(-1)).toMatchObject({
      operation: 'CREATED',
      absenceId: `v000${2 * PLACEHOLDER_REFERENCES}`,
    });
  });

  it('is reported once for each version', () => {
    const shell = new ChainShell(resolve);
    const { contradictions } = shell.deliver({
      rows: versions(0, PLACEHOLDER_REFERENCES + 1),
      mode: 'final',
    });
    expect(contradictions).toHaveLength(PLACEHOLDER_REFERENCES + 1);
    expect(contradictions[0]).toMatchObject({ kind: 'crowded', versionIds: ['v000000'] });
  });

  it('publishes no version again that was published before the limit was reached', () => {
    const shell = new ChainShell(resolve);
    shell.deliver({ rows: versions(0, 1), mode: 'final' });
    shell.deliver({ rows: versions(1, 2 * PLACEHOLDER_REFERENCES), mode: 'final' });
    const first = shell.steps.filter(({ versionId }) => versionId === 'v000000');
    expect(first.map(({ operation }) => operation)).toEqual(['CREATED']);
    expect(shell.currents.get(first[0]?.absenceId ?? '')).toBe('v000000');
  });
});
