export type SeededRandom = ReturnType<typeof seededRandom>;

/** Repeatable random numbers: the same seed gives the same numbers (xorshift32). */
export function seededRandom(seed: number) {
  // Neighbouring seeds must not begin alike, and zero would stay zero.
  let state = (Math.imul(seed, 2_654_435_761) ^ 0x9e37_79b9) >>> 0 || 1;
  const next = (): number => {
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    state = (state ^ (state << 5)) >>> 0;
    return state / 2 ** 32;
  };
  const below = (most: number): number => Math.floor(next() * most);
  return {
    /** 0 to 1, without 1. */
    next,
    /** 0 to `most`, whole, without `most`. */
    below,
    chance: (probability: number): boolean => next() < probability,
    /** Throws on an empty list. */
    pick: <T>(list: readonly T[]): T => {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
  };
}
