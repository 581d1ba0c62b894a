/** The properties of a test file that decide its place. */
export interface FileOfTests {
  /** Name of its project. */
  readonly project: string;
  /** Files of higher cost begin earlier; any unit. */
  readonly cost: number;
}

/**
 * Orders files so that those of each project spread evenly over the run: some projects wait for time-outs and services while
 * others compute. Within a project costly files come first, so that no long file begins last.
 */
export function interleave<T extends FileOfTests>(files: readonly T[]): T[] {
  const placed: { readonly file: T; readonly place: number }[] = [];
  for (const [, ofProject] of Map.groupBy(files, ({ project }) => project)) {
    const sorted = ofProject.toSorted((a, b) => b.cost - a.cost);
    for (const [at, file] of sorted.entries()) placed.push({ file, place: at / sorted.length });
  }
  return placed.toSorted((a, b) => a.place - b.place).map(({ file }) => file);
}
