import { describe, expect, it } from 'vitest';
import { bringingSync } from '../../../../src/core/verify/bringing-sync.ts';

describe('the sync that removes a difference', () => {
  it.each([
    ['users', 'missing', 'incremental'],
    ['users', 'different', 'incremental'],
    ['absences', 'different', 'incremental'],
    ['users', 'left-over', 'full'],
    ['absence-changes', 'left-over', 'full'],
    ['users', 'reject-left-over', 'full'],
    ['schedules', 'left-over', 'incremental'],
    ['class-students', 'different', 'full'],
  ] as const)('for a pending difference of %s, %s, is the %s one', (collection, kind, expected) => {
    expect(bringingSync({ collection, kind, key: 'k', state: 'pending' })).toBe(expected);
  });

  it('is none for what is wrong or needs a decision', () => {
    for (const state of ['wrong', 'withheld'] as const)
      expect(bringingSync({ collection: 'users', kind: 'left-over', key: 'k', state })).toBeNull();
  });
});
