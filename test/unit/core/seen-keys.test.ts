import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { SeenKeys } from '../../../src/core/seen-keys.ts';
import { forAll } from '../support/for-all.ts';

it('the seen keys are exactly those that were added, for any keys and any seed', () => {
  const keys = fc.array(
    fc.oneof(fc.constantFrom('A', '\u0141', '\u0241'), fc.string({ maxLength: 8, unit: 'binary' })),
  );
  forAll([fc.integer(), keys, fc.string()], (seed, added, other) => {
    const seen = new SeenKeys(seed);
    expect(added.map((key) => seen.add(key))).toEqual(added.map((key, at) => added.indexOf(key) === at));
    const all = [...added, other, 'A', '\u0141'];
    expect(all.map((key) => seen.has(key))).toEqual(all.map((key) => added.includes(key)));
    expect(seen.size).toBe(new Set(added).size);
  });
});

it('no seen key is lost, counted twice or invented while a large collection grows', () => {
  const seen = new SeenKeys(20_260_303);
  const count = 200_000;
  for (let number = 0; number < count; number += 1) seen.add(`00000000-0000-4000-8000-${number}`);
  for (let number = 0; number < 2_000; number += 1) expect(seen.has(`row-${number}`)).toBe(false);
  for (let number = 0; number < count; number += 1)
    if (seen.add(`00000000-0000-4000-8000-${number}`)) expect.fail(`lost number ${number}`);
  expect(seen.size).toBe(count);
});
