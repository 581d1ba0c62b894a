import type { Mutation } from './played.ts';

/** Plays histories with a planted mistake, from seed 1 on, until the checks find what they must. */
export async function firstCatch(
  mutation: Mutation,
  most: number,
): Promise<{ histories: number; problem: string | null }> {
  for (let seed = 1; seed <= most; seed += 1) {
    const problem = (await mutation.play(seed)).problems.find((each) => each.includes(mutation.finds));
    if (problem !== undefined) return { histories: seed, problem };
  }
  return { histories: most, problem: null };
}
