import { describe, expect, it } from 'vitest';

import { mappingIdOf } from '../../../src/core/mapping-id.ts';

const MASKING = { drop: ['school'], pseudonymise: ['student', 'class'], pseudonymiseKey: 'one key' };

describe('the id of a mapping', () => {
  it('is null for a mapping that takes nothing out, whatever key there is', () => {
    expect(mappingIdOf({ drop: [], pseudonymise: [], pseudonymiseKey: 'one key' })).toBeNull();
  });

  it('does not depend on the order of fields, or on a key that is not used', () => {
    const id = mappingIdOf(MASKING);
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(mappingIdOf({ ...MASKING, pseudonymise: ['class', 'student', 'class'] })).toBe(id);
    const dropped = { drop: ['school'], pseudonymise: [] };
    expect(mappingIdOf({ ...dropped, pseudonymiseKey: 'one key' })).toBe(
      mappingIdOf({ ...dropped, pseudonymiseKey: 'another' }),
    );
  });

  it('differs where the fields, their treatment or the key differ', () => {
    const ids = [
      MASKING,
      { ...MASKING, drop: [] },
      { ...MASKING, drop: ['student', 'class'], pseudonymise: ['school'] },
      { ...MASKING, pseudonymiseKey: 'another' },
    ].map(mappingIdOf);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
