/** The result of one history. */
export interface Played {
  /** Each problem names first what is wrong, then where. Empty: every invariant held. */
  readonly problems: readonly string[];
  /** How often each trouble and each action of the pipeline happened. */
  readonly happened: ReadonlyMap<string, number>;
}

/** A kind of histories. The same seed of the same kind always gives the same history. */
export interface Kind {
  readonly name: string;
  /** The share of this kind among all played histories. */
  readonly parts: number;
  readonly play: (seed: number) => Promise<Played>;
}

/** A mistake that the code under test could make, which the checks must find. */
export interface Mutation {
  readonly name: string;
  /** {@link Kind.name} */
  readonly kind: string;
  /** A part of the problem that the checks must find in one of the first histories. */
  readonly finds: string;
  readonly play: (seed: number) => Promise<Played>;
}

/** Plays a history that notes its problems. One that does not end, or ends in an error, has one more problem. */
export async function resultOf(
  history: { readonly problems: Iterable<string>; readonly happened: ReadonlyMap<string, number> },
  play: () => Promise<void>,
): Promise<Played> {
  const ended: string[] = [];
  try {
    await play();
  } catch (error) {
    ended.push(`the history did not end well: ${error instanceof Error ? error.message : typeof error}`);
  }
  return { problems: [...history.problems, ...ended], happened: history.happened };
}

/** The first history of the seeds from 1 on in which the mistake is found, and its problem; null: in none of them. */
export async function firstCatch(
  { finds, play }: Mutation,
  most: number,
): Promise<{ histories: number; problem: string | null }> {
  for (let seed = 1; seed <= most; seed += 1) {
    const problem = (await play(seed)).problems.find((each) => each.includes(finds));
    if (problem !== undefined) return { histories: seed, problem };
  }
  return { histories: most, problem: null };
}
