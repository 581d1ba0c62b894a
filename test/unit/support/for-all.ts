import * as fc from 'fast-check';

type Arbitraries<Values> = { [At in keyof Values]: fc.Arbitrary<Values[At]> };

/** Checks a hundred random choices of values. */
export function forAll<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  check: (...values: Values) => boolean | void,
): void {
  forMany(100, arbitraries, check);
}

/** Checks as many random choices of values. */
export function forMany<Values extends [unknown, ...unknown[]]>(
  numRuns: number,
  arbitraries: Arbitraries<Values>,
  check: (...values: Values) => boolean | void,
): void {
  const all = fc.tuple(...arbitraries) as fc.Arbitrary<Values>;
  fc.assert(
    fc.property(all, (values) => check(...values)),
    { numRuns },
  );
}
