import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeenKeys } from '../../../src/core/seen-keys.ts';

describe('SeenKeys', () => {
  it('contains every key that was added, for any keys and any seed', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(fc.string({ maxLength: 8, unit: 'binary' })), (seed, keys) => {
        const seen = new SeenKeys(seed);
        const met = new Set<string>();
        for (const key of keys) {
          expect(seen.add(key)).toBe(!met.has(key));
          met.add(key);
        }
        expect(seen.size).toBe(met.size);
        for (const key of met) expect(seen.has(key)).toBe(true);
      }),
    );
  });

  it('loses nothing, counts no key twice and contains no other while it grows to a large collection', () => {
    const seen = new SeenKeys(20_260_303);
    const count = 200_000;
    for (let number = 0; number < count; number += 1) seen.add(`00000000-0000-4000-8000-${number}`);
    for (let number = 0; number < 2_000; number += 1) expect(seen.has(`row-${number}`)).toBe(false);
    for (let number = 0; number < count; number += 1)
      if (seen.add(`00000000-0000-4000-8000-${number}`)) expect.fail(`lost number ${number}`);
    expect(seen.size).toBe(count);
  });

  it('keeps keys apart that differ only in the high byte of a character', () => {
    const seen = new SeenKeys(7);
    seen.add('\u0141');
    expect([seen.has('A'), seen.has('\u0241')]).toEqual([false, false]);
  });
});
