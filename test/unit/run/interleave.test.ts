import { describe, expect, it } from 'vitest';
import { interleave } from '../../run/interleave.ts';

const files = (project: string, ...costs: number[]) => costs.map((cost) => ({ project, cost }));

describe('the order of test files', () => {
  it('spreads the files of each project evenly over the run', () => {
    const ordered = interleave([...files('few', 1, 1), ...files('many', 1, 1, 1, 1, 1, 1)]);
    expect(ordered.map(({ project }) => project)).toEqual([
      'few',
      'many',
      'many',
      'many',
      'few',
      'many',
      'many',
      'many',
    ]);
  });

  it('begins the costly files of a project first', () => {
    expect(interleave(files('one', 2, 9, 4)).map(({ cost }) => cost)).toEqual([9, 4, 2]);
  });
});
