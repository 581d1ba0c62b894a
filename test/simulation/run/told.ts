/** What one history came to. */
export interface Told {
  /** Each begins with what is wrong, then says of what. Empty: every invariant held. */
  readonly problems: readonly string[];
  /** How often what befell the world, and what the pipeline did about it. */
  readonly happened: ReadonlyMap<string, number>;
}

/** Histories that are told by their seed: the same seed of the same kind always tells the same. */
export interface Kind {
  readonly name: string;
  /** Of all histories played, so many parts are of this kind. */
  readonly parts: number;
  tell(seed: number): Promise<Told>;
}

/** A mistake as the code under test could make it, which the checks must find. */
export interface Mutation {
  readonly name: string;
  /** {@link Kind.name} */
  readonly kind: string;
  /** Part of a problem that must be found, in any of the first histories. */
  readonly finds: string;
  tell(seed: number): Promise<Told>;
}

/**
 * Plays a history. One that does not end, or ends in an error, is a problem like any other.
 * `play` hands over the problems found, and what happened, whenever it knows them.
 */
export async function toldBy(
  play: (note: (problems: readonly string[], happened: ReadonlyMap<string, number>) => void) => Promise<void>,
): Promise<Told> {
  const problems: string[] = [];
  let happened: ReadonlyMap<string, number> = new Map();
  try {
    await play((found, counts) => {
      problems.push(...found);
      happened = counts;
    });
  } catch (error) {
    problems.push(`it did not end well: ${error instanceof Error ? error.message : typeof error}`);
  }
  return { problems, happened };
}
