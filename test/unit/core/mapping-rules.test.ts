import { describe, expect, it } from 'vitest';

import { mappingIdOf } from '../../../src/core/mapping-rules.ts';

const MASKING = { drop: ['school'], pseudonymise: ['student', 'class'], pseudonymiseKey: 'one key' };

describe('the id of a mapping', () => {
  it('is null for a mapping that drops and pseudonymises nothing, with any key', () => {
    expect(mappingIdOf({ drop: [], pseudonymise: [], pseudonymiseKey: 'one key' })).toBeNull();
  });

  it('does not depend on the order of fields, nor on an unused key', () => {
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
