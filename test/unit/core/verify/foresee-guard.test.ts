import { describe, expect, it } from 'vitest';
import type { Difference, DifferenceState } from '../../../../src/core/verify/difference.ts';
import { foreseeGuard } from '../../../../src/core/verify/foresee-guard.ts';

const leftOver = (count: number, state: DifferenceState = 'pending'): Difference[] =>
  Array.from({ length: count }, (_, at) => ({
    collection: 'users',
    key: `${state}-${at}`,
    kind: 'left-over',
    state,
  }));
const NEWS: Difference = { collection: 'users', key: 'new', kind: 'missing', state: 'pending' };

const foreseen = (
  differences: readonly Difference[],
  more: Partial<Parameters<typeof foreseeGuard>[1]> = {},
) =>
  foreseeGuard(differences, {
    isLoss: ({ kind }) => kind === 'left-over',
    topicKeys: 100,
    removedToday: 0,
    limits: { rows: 5, ratio: 0.05 },
    whyWithheld: null,
    ...more,
  });
const states = (differences: readonly Difference[]) => new Set(differences.map(({ state }) => state));

describe('removals that a full sync will find', () => {
  it('stay pending where the guard will let them go', () => {
    const differences = [...leftOver(5), NEWS];
    expect(foreseen(differences)).toEqual({ differences, why: null });
  });

  it('are reported as withheld where the guard will withhold them', () => {
    const { differences, why } = foreseen([...leftOver(6), NEWS]);
    expect(why).toContain('6 of 100 rows');
    expect(states(differences.slice(0, 6))).toEqual(new Set(['withheld']));
    expect(differences[6]).toEqual(NEWS);
  });

  it('are counted together with those that are withheld already, or that went today', () => {
    const listed = leftOver(4, 'withheld');
    expect(states(foreseen([...listed, ...leftOver(2)]).differences)).toEqual(new Set(['withheld']));
    expect(states(foreseen(leftOver(2), { removedToday: 4 }).differences)).toEqual(new Set(['withheld']));
  });

  it('are compared with the rows that a sync knows, without records of another program', () => {
    const invented = leftOver(20, 'wrong');
    expect(foreseen([...invented, ...leftOver(3)], { topicKeys: 120 }).why).toBe(null);
    expect(foreseen([...invented, ...leftOver(3)], { topicKeys: 26 }).why).toContain('half or more');
  });

  it('are reported as withheld while the deletions of another collection need a decision', () => {
    const { differences, why } = foreseen(leftOver(1), {
      whyWithheld: 'deletions of orgs need a decision',
    });
    expect([...states(differences), why]).toEqual(['withheld', 'deletions of orgs need a decision']);
  });
});
