/** Repeatable random numbers: the same seed gives the same numbers (xorshift32). */
export interface SeededRandom {
  /** 0 to 1, without 1. */
  next(): number;
  chance(probability: number): boolean;
  /** 0 to `most`, whole, without `most`. */
  below(most: number): number;
  /** Throws on an empty list. */
  pick<T>(list: readonly T[]): T;
}

export function seededRandom(seed: number): SeededRandom {
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
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (list) => {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
  };
}
