import { expect, it } from 'vitest';

import { mappingIdOf } from '../../../src/core/mapping-rules.ts';

const MASKING = { drop: ['school'], pseudonymise: ['student', 'class'], pseudonymiseKey: 'one key' };

it('the id of a mapping is null where it takes nothing out, and depends neither on order nor on an unused key', () => {
  expect(mappingIdOf({ drop: [], pseudonymise: [], pseudonymiseKey: 'one key' })).toBeNull();
  const id = mappingIdOf(MASKING);
  expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(mappingIdOf({ ...MASKING, pseudonymise: ['class', 'student', 'class'] })).toBe(id);
  const dropped = ['one key', 'another'].map((pseudonymiseKey) =>
    mappingIdOf({ drop: ['school'], pseudonymise: [], pseudonymiseKey }),
  );
  expect(new Set(dropped).size).toBe(1);
});

it('the id of a mapping differs where the fields, their treatment or the key differ', () => {
  const swapped = { drop: ['student', 'class'], pseudonymise: ['school'] };
  const others = [{}, { drop: [] }, swapped, { pseudonymiseKey: 'another' }];
  expect(new Set(others.map((each) => mappingIdOf({ ...MASKING, ...each }))).size).toBe(4);
});
