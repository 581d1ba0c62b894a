const LONGEST_NAME = 100;

/** Ends a sentence about a name that is not known: `; did you mean …?`, or nothing if no known name is similar. */
export function didYouMean(name: string, known: Iterable<string>): string {
  if (name.length > LONGEST_NAME) return '';
  const most = Math.min(3, Math.floor(name.length / 2));
  const near = [...known]
    .map((each) => ({ each, distance: distance(name.toLowerCase(), each.toLowerCase()) }))
    .filter((found) => found.distance <= most)
    .toSorted((one, other) => one.distance - other.distance);
  return near[0] === undefined ? '' : `; did you mean ${near[0].each}?`;
}

/** The Levenshtein distance: how many characters must be added, removed or replaced. */
function distance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const replaced = (above[at - 1] ?? 0) + (one[row - 1] === other[at - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[at] ?? 0) + 1, (current[at - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[other.length] ?? 0;
}
